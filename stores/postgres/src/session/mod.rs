//! [`Connector`]: opens connections, from the first byte to the confirmed subscription.

mod connection;
mod ensure;
mod listen;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_net::Connects;
use auto_mutex_seam::store::{
    Address, ConnectError, Engine as _, MemberId, RandomId, StoreErrorKind, StoreOptions, Trouble,
    lock,
};
use auto_mutex_seam::{Guarantees, StoreError};
use tokio::time::{Instant, timeout};
use tokio_postgres::{Error, Row, Statement};

pub(crate) use self::connection::{Session, rows};
use self::connection::{nonsense, silent};
use crate::call::{Call, INSPECT, RUN, id, query};
use crate::engine::Postgres;
use crate::epoch::Epoch;
use crate::facts::Facts;
use crate::schema::Found;

/// How many answers a set-up may wait for.
const STEPS: u32 = 4;
/// The functions that most requests call, and how many parameters each has. They are prepared, unless a pooler may pass
/// each request to another process.
const FREQUENT: [(&str, usize); 4] = [("acquire", 13), ("touch", 9), ("release", 7), (RUN, 14)];

pub(crate) struct Connector {
    pub(crate) postgres: Postgres,
    pub(crate) member: MemberId,
    pub(crate) options: StoreOptions,
    /// For an operator, who changes nothing.
    reads: bool,
    facts: Mutex<Option<Facts>>,
    /// By which the server may know the last connection that listened for this client.
    presence: Mutex<Vec<i64>>,
    /// The server of the last connection.
    server: Mutex<Option<Address>>,
}

/// A connection that is ready for requests.
pub(crate) struct Ready {
    pub(crate) requests: Session,
    prepared: HashMap<&'static str, Statement>,
    /// Whether requests run only in the epoch in which the connection was made, behind a pooler.
    pub(crate) in_epoch: bool,
    pub(crate) epoch: Epoch,
    pub(crate) facts: Facts,
}

impl Connects for Connector {
    type Ready = Ready;

    /// The server of the last connection; before the first, all of the URL.
    fn address(&self) -> String {
        let server = lock(&self.server);
        let server = server.as_ref().map(Address::to_string);
        server.unwrap_or_else(|| self.postgres.servers())
    }

    fn connect_timeout(&self) -> Duration {
        self.options.connect_timeout
    }

    /// Servers before the one that takes writes may all be silent.
    fn turns(&self) -> u32 {
        self.postgres.servers.len() as u32 + 1
    }

    fn has_others(&self) -> bool {
        self.postgres.servers.len() > 1
    }

    async fn open(&self, _: Instant, silence: Duration) -> Result<Ready, ConnectError> {
        let mut failed: Option<ConnectError> = None;
        for server in &self.postgres.servers {
            let opening = async {
                let session = self.session(server, silence).await?;
                let set_up = timeout(silence.saturating_mul(STEPS), self.set_up(session));
                set_up.await.unwrap_or_else(|_| Err(silent()))
            };
            let error = match opening.await {
                Ok(ready) => {
                    *lock(&self.facts) = Some(ready.facts.clone());
                    *lock(&self.server) = Some(server.clone());
                    return Ok(ready);
                }
                Err(error) => error,
            };
            // That one server is a standby says less than why another cannot be used.
            let tells_less = matches!(error, ConnectError::Role(_)) && failed.is_some();
            if !tells_less {
                failed = Some(ConnectError::At(server.to_string(), Box::new(error)));
            }
        }
        Err(failed.unwrap_or_else(|| self.too_late()))
    }

    /// The server starts, or a standby is about to take over.
    fn judge(&self, error: ConnectError) -> Result<ConnectError, ConnectError> {
        let passes = match error.trouble() {
            Trouble::Busy => error.of_provider().is_none(),
            Trouble::Unreachable | Trouble::Silent => self.has_others(),
            Trouble::Refused => false,
        };
        if passes { Ok(error) } else { Err(error) }
    }

    fn too_late(&self) -> ConnectError {
        let error = ConnectError::too_late(self.options.connect_timeout);
        ConnectError::At(self.postgres.servers(), Box::new(error))
    }
}

impl Connector {
    pub(crate) fn new(postgres: Postgres, options: &StoreOptions, member: MemberId) -> Self {
        Self {
            postgres,
            member,
            options: *options,
            reads: false,
            facts: Mutex::default(),
            presence: Mutex::default(),
            server: Mutex::default(),
        }
    }

    pub(crate) fn reading(postgres: Postgres, options: &StoreOptions) -> Self {
        Self {
            reads: true,
            ..Self::new(postgres, options, MemberId::random())
        }
    }

    pub(crate) fn guarantees(&self) -> Guarantees {
        let facts = lock(&self.facts);
        let facts = facts.as_ref();
        facts.map_or_else(Guarantees::unknown, |it| it.guarantees(&self.options))
    }

    pub(crate) fn is_pooled(&self) -> bool {
        self.postgres.poll.is_some()
    }

    async fn set_up(&self, mut requests: Session) -> Result<Ready, ConnectError> {
        let is_pooled = self.is_pooled();
        let facts = Facts::ask(&mut requests, is_pooled, self.reads).await?;
        let listens = !is_pooled && !self.reads;
        if listens {
            requests.settle().await?;
        }
        // If nobody has ever used locks there, a reader has nothing to see.
        let is_blank = self.reads && facts.schema == Found::Missing;
        let mut epoch = Epoch::default();
        if !is_blank {
            let lease = self.options.longest_lease;
            let earlier = lock(&self.server)
                .as_ref()
                .map_or(Duration::ZERO, |_| lease);
            ensure::ensure(&mut requests, facts.schema, self.reads, earlier).await?;
            let longest = Some(lease).filter(|_| !self.reads);
            let client = requests.client.clone();
            let rows = requests.ask(Epoch::ask(&client, longest)).await?;
            if let Some(fault) = Epoch::fault(&rows) {
                let source = StoreError::new(StoreErrorKind::Refused, fault);
                return Err(ConnectError::Unsuitable(source.to_string().into(), source));
            }
            epoch = Epoch::read(&rows).ok_or_else(nonsense)?;
        }
        if listens {
            requests.enter(self.member, &self.presence).await?;
        }
        let mut prepared = HashMap::new();
        for (function, count) in FREQUENT.into_iter().filter(|_| listens) {
            let client = requests.client.clone();
            let query = query(function, count, false);
            let statement = requests.ask(client.prepare(&query)).await?;
            prepared.insert(function, statement);
        }
        Ok(Ready {
            requests,
            prepared,
            in_epoch: is_pooled,
            epoch,
            facts,
        })
    }
}

impl Ready {
    /// Calls a function of the schema. The request is sent when the future is polled first.
    pub(crate) fn run(
        &self,
        mut call: Call,
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send + 'static {
        let client = self.requests.client.clone();
        let statement = self.prepared.get(call.function).cloned();
        let query = match statement {
            None => query(call.function, call.values.len(), self.in_epoch),
            Some(_) => String::new(),
        };
        if self.in_epoch && call.function != INSPECT {
            call.values.push(id(self.epoch.id));
        }
        async move {
            match &statement {
                Some(statement) => client.query(statement, &call.plain()).await,
                None => client.query_typed(&query, &call.typed()).await,
            }
        }
    }
}
