//! [`Connector`]: opens connections, from the first byte to the confirmed subscription.

mod connection;
mod ensure;
mod listen;
mod login;
mod queries;

use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    Address, ConnectError, MemberId, RandomId, StoreErrorKind, StoreOptions, Trouble, lock,
};
use auto_mutex_core::{Guarantees, SetupError};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use self::connection::nonsense;
pub(crate) use self::connection::{Session, rows};
pub(crate) use self::queries::Queries;
use crate::engine::Postgres;
use crate::facts::Facts;
use crate::schema::Found;
use crate::term::Term;

/// How long a server may be silent at first. If that was too short, later attempts wait longer.
pub(crate) const USUAL_SILENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);
/// How many answers a set-up may wait for.
const STEPS: u32 = 4;

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
    pub(crate) queries: Queries,
    pub(crate) term: Term,
    pub(crate) facts: Facts,
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

    /// The server of the last connection; before the first, all of the URL.
    pub(crate) fn address_text(&self) -> String {
        let server = lock(&self.server);
        let server = server.as_ref().map(Address::to_string);
        server.unwrap_or_else(|| self.postgres.listed())
    }

    pub(crate) fn guarantees(&self) -> Guarantees {
        let facts = lock(&self.facts);
        let facts = facts.as_ref();
        facts.map_or_else(Guarantees::unknown, |it| it.guarantees(&self.options))
    }

    pub(crate) fn is_pooled(&self) -> bool {
        self.postgres.poll.is_some()
    }

    pub(crate) async fn first(&self, left: Duration) -> Result<Ready, SetupError> {
        let end = Instant::now() + left.min(Duration::from_secs(86_400));
        let mut passing = None;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let silence = match self.postgres.servers.len() {
                1 => left,
                _ => USUAL_SILENCE.min(left),
            };
            let attempt = timeout_at(end, Box::pin(self.open(silence))).await;
            let failed = match attempt {
                Ok(Ok(ready)) => return Ok(ready),
                Ok(Err(error)) => error,
                Err(_) => passing.take().unwrap_or_else(|| self.too_late()),
            };
            if !self.passes(&failed) || Instant::now() + PAUSE >= end {
                return Err(failed.at(&self.postgres.listed()));
            }
            passing = Some(failed);
            sleep(PAUSE).await;
        }
    }

    pub(crate) async fn attempt(&self, silence: Duration) -> Result<Ready, ConnectError> {
        // Servers before the one that takes writes may all be silent.
        let turns = self.postgres.servers.len() as u32 + 1;
        let whole = self.options.connect_timeout.max(silence * turns);
        let opened = timeout(whole, Box::pin(self.open(silence))).await;
        opened.unwrap_or_else(|_| Err(self.too_late()))
    }

    /// Whether another attempt within the set-up makes sense: the server starts, or a standby is about to take over.
    fn passes(&self, error: &ConnectError) -> bool {
        match error.trouble() {
            Trouble::Busy => error.of_provider().is_none(),
            Trouble::Unreachable | Trouble::Silent => self.postgres.servers.len() > 1,
            Trouble::Refused => false,
        }
    }

    fn too_late(&self) -> ConnectError {
        ConnectError::too_late(self.options.connect_timeout)
    }

    async fn open(&self, silence: Duration) -> Result<Ready, ConnectError> {
        let mut failed: Option<ConnectError> = None;
        for server in &self.postgres.servers {
            let opening = async {
                let session = self.session(server, silence).await?;
                let set_up = timeout(silence.saturating_mul(STEPS), self.set_up(session));
                set_up.await.unwrap_or_else(|_| Err(login::silent()))
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

    async fn set_up(&self, mut requests: Session) -> Result<Ready, ConnectError> {
        let is_pooled = self.is_pooled();
        let facts = Facts::ask(&mut requests, is_pooled, self.reads).await?;
        let listens = !is_pooled && !self.reads;
        if listens {
            requests.settle().await?;
        }
        // If nobody has ever used locks there, a reader has nothing to see.
        let is_blank = self.reads && facts.schema == Found::Missing;
        let mut term = Term::default();
        if !is_blank {
            let lease = self.options.longest_lease;
            let earlier = lock(&self.server)
                .as_ref()
                .map_or(Duration::ZERO, |_| lease);
            ensure::ensure(&mut requests, facts.schema, self.reads, earlier).await?;
            let longest = Some(lease).filter(|_| !self.reads);
            let client = requests.client.clone();
            let rows = requests.ask(Term::ask(&client, longest)).await?;
            if let Some(fault) = Term::fault(&rows) {
                let source = StoreError::new(StoreErrorKind::Refused, fault);
                return Err(ConnectError::Unsuitable(source.to_string().into(), source));
            }
            term = Term::read(&rows).ok_or_else(nonsense)?;
        }
        if listens {
            requests.listen(self.member, &self.presence).await?;
        }
        let queries = Queries::of(&mut requests, is_pooled.then_some(&term), !self.reads);
        Ok(Ready {
            queries: queries.await?,
            requests,
            term,
            facts,
        })
    }
}
