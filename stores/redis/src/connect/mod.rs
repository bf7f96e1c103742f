//! [`Connector`]: opens connections, from the first byte to the confirmed subscription.

pub(crate) mod epoch;
pub(super) mod facts;
pub(super) mod loading;
pub(super) mod trial;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_mutex_net::{Backoff, Connects, FIRST_PAUSE, USUAL_SILENCE};
use auto_mutex_seam::Guarantees;
use auto_mutex_seam::store::{MemberId, Name, Op, StoreOptions, Trouble, lock};
use redis::Cmd;
use tokio::time::{Instant, sleep};

use self::epoch::{Epoch, Guard};
use self::facts::Facts;
use crate::RedisEndpoint;
use crate::login::error::{ConnectError, accept};
use crate::login::hello;
use crate::login::renewal::Renewal;
use crate::route::{Primary, Route};
use crate::script::Scripts;
use crate::script::command::{self, Part};
use crate::wire::{Connection, Limits, Value};

const LOADING: Duration = Duration::from_secs(2);

const READER: &str = "auto_mutex:operator";
/// For CLIENT SETINFO, by which `CLIENT LIST` shows the library of a connection. The right to it is optional.
const INTRODUCTION: [[&str; 2]; 2] = [
    ["LIB-NAME", "auto-mutex"],
    ["LIB-VER", env!("CARGO_PKG_VERSION")],
];

pub(crate) struct Connector {
    pub(crate) route: Route,
    pub(crate) member: MemberId,
    pub(crate) scripts: Arc<Scripts>,
    pub(crate) guard: Guard,
    /// The name for checking the server on the first connection. `None` if another node of the cluster is checked.
    pub(crate) trial: Option<Name>,
    is_tried: AtomicBool,
    /// For an operator, who writes no key: records no epoch, and does not keep other clients from loading missing
    /// scripts.
    pub(crate) reads: bool,
    /// Whether this member has sent nothing to the server yet, so that the server knows none of its tickets.
    pub(crate) is_new: bool,
    /// Whether the server has refused CLIENT SETINFO. It is not sent again, because each refusal adds an entry to its
    /// ACL LOG.
    nameless: AtomicBool,
    /// The facts about the server with this epoch.
    facts: Mutex<Option<(String, Facts)>>,
}

pub(crate) struct Ready {
    pub(super) server: Primary,
    pub(super) connection: Connection,
    pub(super) epoch: Epoch,
    pub(super) renewal: Renewal,
    pub(super) knew_scripts: bool,
}

impl Connects for Connector {
    type Ready = Ready;

    fn address(&self) -> String {
        self.route.address_text()
    }

    fn connect_timeout(&self) -> Duration {
        self.guard.options.connect_timeout
    }

    fn turns(&self) -> u32 {
        2
    }

    fn has_others(&self) -> bool {
        self.route.has_sentinels()
    }

    async fn open(&self, end: Instant, silence: Duration) -> Result<Ready, ConnectError> {
        match self.subscribed(Limits { end, silence }).await {
            Err(ConnectError::Unreachable(Trouble::Silent, _)) if Instant::now() >= end => {
                Err(self.too_late())
            }
            opened => opened,
        }
    }

    fn judge(&self, error: ConnectError) -> Result<ConnectError, ConnectError> {
        self.route.judge(error)
    }

    async fn moved(&self) {
        self.route.moved().await;
    }
}

impl Connector {
    pub(crate) fn new(endpoint: RedisEndpoint, options: &StoreOptions, member: MemberId) -> Self {
        Self {
            scripts: Scripts::of(endpoint.is_cluster()),
            route: Route::new(endpoint),
            member,
            guard: Guard::of(options),
            trial: Some(trial::name(member, 0)),
            reads: false,
            is_new: true,
            nameless: AtomicBool::new(false),
            is_tried: AtomicBool::new(false),
            facts: Mutex::default(),
        }
    }

    pub(super) fn guarantees(&self) -> Guarantees {
        let facts = lock(&self.facts);
        let facts = facts.as_ref();
        facts.map_or_else(Guarantees::unknown, |(_, it)| it.guarantees(&self.guard))
    }

    pub(super) fn evaluation(&self, name: &Name, first: Option<(u8, u64)>, op: &Op) -> Cmd {
        let (scripts, member) = (&self.scripts, self.member);
        let joins = false;
        let parts = [Part { name, op, joins }].into_iter();
        command::evaluate(&mut Cmd::new(), scripts, member, first, parts).take()
    }

    /// Checks the first server, and reads the settings of each new one, after a restart or a promotion.
    async fn check(&self, ready: &mut Ready) -> Result<(), ConnectError> {
        let epoch = lock(&self.guard.keys).epoch().to_owned();
        if matches!(&*lock(&self.facts), Some((known, _)) if *known == epoch) {
            return Ok(());
        }
        let (connection, lag) = (&mut ready.connection, ready.epoch.lag);
        let facts = match &self.trial {
            Some(trial) if !self.is_tried.load(Ordering::Relaxed) => {
                let facts = trial::run(connection, self, trial, lag).await?;
                self.is_tried.store(true, Ordering::Relaxed);
                facts
            }
            _ => Facts::ask(connection, lag).await?,
        };
        self.note_facts(facts);
        Ok(())
    }

    pub(super) fn note_facts(&self, facts: Facts) {
        let epoch = lock(&self.guard.keys).epoch().to_owned();
        *lock(&self.facts) = Some((epoch, facts));
    }

    pub(super) async fn unsubscribed(&self, silence: Duration) -> Result<Ready, ConnectError> {
        let limits = Limits::new(self.guard.options.connect_timeout, silence);
        limits.within(Box::pin(self.prepared(limits))).await
    }

    async fn prepared(&self, limits: Limits) -> Result<Ready, ConnectError> {
        let (endpoint, scripts, reads) = (&self.route.endpoint, &*self.scripts, self.reads);
        let name = match reads {
            true => READER.to_owned(),
            false => format!("auto_mutex:{}", self.member),
        };
        let server = self.route.resolve(limits).await?;
        let (address, name) = (&server.address, Some(name.as_str()));
        let opened = hello::open(address, endpoint, name, limits).await?;
        let (mut connection, granted, takes_introductions) = opened;
        let renewal = Renewal::new(
            &endpoint.login,
            address,
            self.guard.options.connect_timeout,
            granted,
        );
        let introduces = takes_introductions && !reads;
        let (missing, lag) = self.loaded(&mut connection, introduces, limits).await?;
        let knew_scripts = missing.is_empty();
        if !knew_scripts {
            let key = lock(&self.guard.keys).of_loading().filter(|_| !reads);
            loading::supply(
                &mut connection,
                scripts,
                key.as_deref(),
                self.member,
                missing,
            )
            .await?;
        }
        let epoch = match reads {
            true => Epoch {
                lag,
                ..Epoch::default()
            },
            false => Epoch::ask(&mut connection, scripts, &self.guard, lag).await?,
        };
        Ok(Ready {
            server,
            connection,
            epoch,
            renewal,
            knew_scripts,
        })
    }

    async fn loaded(
        &self,
        connection: &mut Connection,
        introduces: bool,
        limits: Limits,
    ) -> Result<(Vec<&str>, Duration), ConnectError> {
        let until = limits.at_most(LOADING).end;
        let mut backoff = Backoff::new(FIRST_PAUSE, USUAL_SILENCE);
        loop {
            let known = self.known(connection, introduces).await;
            let pause = backoff.pause();
            let passes = matches!(known, Err(ConnectError::Unreachable(Trouble::Busy, _)));
            if !passes || Instant::now() + pause >= until {
                return known;
            }
            sleep(pause).await;
        }
    }

    async fn known(
        &self,
        connection: &mut Connection,
        introduces: bool,
    ) -> Result<(Vec<&str>, Duration), ConnectError> {
        let mut question = redis::pipe();
        let introduction = match introduces && !self.nameless.load(Ordering::Relaxed) {
            true => &INTRODUCTION[..],
            false => &[],
        };
        for [field, value] in introduction {
            let introduce = question.cmd("CLIENT").arg("SETINFO");
            introduce.arg(field).arg(value);
        }
        let db = self.route.endpoint.db;
        if db != 0 {
            question.cmd("SELECT").arg(db);
        }
        loading::ask(&mut question, &self.scripts);
        facts::ask_setting(&mut question, epoch::LAG);
        connection.send(&question.get_packed_pipeline()).await?;
        for _ in introduction {
            if let Value::Error(_) = connection.reply().await? {
                self.nameless.store(true, Ordering::Relaxed);
            }
        }
        // Read all replies before returning an error, so that the connection stays usable for the next query.
        let selected = match db {
            0 => Ok(()),
            db => {
                let reply = accept(connection.reply().await?);
                reply.map(drop).map_err(|error| match error {
                    ConnectError::Unreachable(Trouble::Unreachable, error)
                    | ConnectError::Unsuitable(_, error) => {
                        let reason =
                            format!("it has no database {db}: leave out the number in the URL");
                        ConnectError::Unsuitable(reason.into(), error)
                    }
                    error => error,
                })
            }
        };
        let missing = loading::missing(connection.reply().await?, &self.scripts);
        let lag = epoch::lag(&connection.reply().await?);
        selected.and(missing).map(|missing| (missing, lag))
    }

    async fn subscribed(&self, limits: Limits) -> Result<Ready, ConnectError> {
        let mut ready = self.prepared(limits).await?;
        let connection = &mut ready.connection;
        let mut question = redis::cmd("SUBSCRIBE");
        question.arg(command::channel(self.member));
        connection.send(&question.get_packed_command()).await?;
        loop {
            match accept(connection.next().await?)? {
                Value::Push(words) if words.first() == Some(&Value::Text(b"subscribe")) => break,
                _ => {}
            }
        }
        self.check(&mut ready).await?;
        Ok(ready)
    }
}
