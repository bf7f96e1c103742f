//! [`Connector`]: opens connections, from the first byte to the confirmed subscription.

pub(super) mod error;
pub(super) mod facts;
pub(super) mod hello;
pub(super) mod inquiry;
mod introduction;
pub(super) mod loading;
pub(super) mod probe;
pub(super) mod renewal;
pub(super) mod setting;
pub(super) mod throttle;
pub(super) mod unsuitable;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use auto_mutex_core::store::{Backoff, MemberId, Name, Replicas};
use auto_mutex_core::{Guarantees, SetupError, StoreError, TlsError};
use tokio::time::{Instant, sleep, timeout_at};

use self::error::{ConnectError, accept};
use self::facts::Facts;
use self::hello::Greeted;
use self::introduction::Introduction;
use self::renewal::Renewal;
use super::route::{Primary, Route};
use super::scripts::Scripts;
use super::term::{self, Guard, Term};
use super::{Spec, command};
use crate::Access;
use crate::wire;
use crate::wire::{Connection, Limits, USUAL_SILENCE, Value};

/// The pause between two attempts at the first connection.
const PAUSE: Duration = Duration::from_millis(50);
/// The first pause between other attempts; it doubles from there.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// How long one attempt waits for a server that loads its data.
const LOADING: Duration = Duration::from_secs(2);

/// The name of a connection for reading in `CLIENT LIST`.
const READER: &str = "auto_mutex:operator";

pub(super) struct Connector {
    pub(super) route: Route,
    access: Access,
    pub(super) replicas: Option<Replicas>,
    pub(super) member: MemberId,
    pub(super) scripts: Arc<Scripts>,
    pub(super) guard: Guard,
    pub(super) connect_timeout: Duration,
    /// Whether connections only read, for an operator. They write no key on the server: they note no term, and load missing
    /// scripts without the key that keeps other clients from loading them too.
    reads: bool,
    probe: Option<Name>,
    /// Whether the server may know tickets of this member although this process has not connected to it yet.
    pub(super) is_known: bool,
    introduction: Introduction,
    /// Set by the checks of the first connection.
    facts: OnceLock<Facts>,
}

pub(super) struct Ready {
    pub(super) server: Primary,
    pub(super) connection: Connection,
    pub(super) term: Term,
    pub(super) renewal: Renewal,
    /// Whether the server knew the scripts before this connection.
    pub(super) knew_scripts: bool,
}

impl Connector {
    pub(super) fn new(spec: Spec) -> Self {
        Self {
            route: spec.route,
            access: spec.access,
            replicas: spec.replicas,
            member: spec.member,
            scripts: spec.scripts,
            guard: spec.guard,
            connect_timeout: spec.connect_timeout,
            reads: spec.reads,
            probe: spec.probe,
            is_known: !spec.is_new,
            introduction: Introduction::default(),
            facts: OnceLock::new(),
        }
    }

    pub(super) fn place(&self) -> String {
        self.route.place()
    }

    /// The guarantees of the server, as found by the first connection.
    pub(super) fn guarantees(&self) -> Guarantees {
        let facts = self.facts.get();
        facts.map_or_else(Guarantees::unknown, |facts| self.guarantees_by(facts))
    }

    pub(super) fn guarantees_by(&self, facts: &Facts) -> Guarantees {
        let replicas = self.replicas.map_or(0, |replicas| replicas.count);
        facts.guarantees(&self.guard, replicas)
    }

    /// Makes the first connection. Waits for a server that loads its data or lacks replicas, and for sentinels to find
    /// a primary.
    pub(super) async fn first(&self, left: Duration) -> Result<Ready, SetupError> {
        let mut passing = None;
        let end = Instant::now() + left;
        let opened = timeout_at(end, async {
            loop {
                let left = end.saturating_duration_since(Instant::now());
                let silence = match self.route {
                    Route::Fixed(_) => left,
                    // During an attempt, another server may become the primary. So one attempt does not get all the time.
                    Route::Sentinel(_) => USUAL_SILENCE.min(left),
                };
                let error = match self.open(Limits::until(end, silence)).await {
                    Err(error) => self.explained(error).await,
                    ready => return ready,
                };
                // The deadline may have cut this attempt short. Then the error of the previous attempt is more precise.
                if let Some(known) = passing.take_if(|_| Instant::now() >= end) {
                    return Err(known);
                }
                passing = Some(self.route.judge(error)?);
                sleep(PAUSE).await;
            }
        })
        .await;
        let result = opened.unwrap_or_else(|_| Err(passing.unwrap_or_else(|| self.too_late())));
        result.map_err(|error| error.at(&self.place()))
    }

    /// Makes a connection in one attempt, which gives up if the server is silent for longer than `silence`.
    pub(super) async fn attempt(&self, silence: Duration) -> Result<Ready, ConnectError> {
        // A busy server that gets more time for each reply also needs more time for all replies together.
        let whole = self.connect_timeout.max(silence * 2);
        let limits = Limits::new(whole, silence.min(whole));
        match limits.within(self.open(limits)).await {
            Err(error) if self.is_unchecked() => Err(self.explained(error).await),
            opened => opened,
        }
    }

    fn is_unchecked(&self) -> bool {
        self.probe.is_some() && self.facts.get().is_none()
    }

    async fn check(&self, ready: &mut Ready) -> Result<(), ConnectError> {
        let Some(probe) = &self.probe else {
            return Ok(());
        };
        let connection = &mut ready.connection;
        probe::run(connection, &self.scripts, self.member, probe).await?;
        if self.replicas.is_some() {
            probe::wait(connection).await?;
        }
        let facts = Facts::ask(connection, ready.term.lag).await?;
        self.facts.get_or_init(|| facts);
        Ok(())
    }

    /// Makes a connection without a subscription: a second one beside that of [`open`](Self::open), or one for reading.
    pub(super) async fn unsubscribed(&self, silence: Duration) -> Result<Ready, ConnectError> {
        let limits = Limits::new(self.connect_timeout, silence);
        limits.within(Box::pin(self.prepared(limits))).await
    }

    fn too_late(&self) -> ConnectError {
        let dialer = match self.access.transport.dialer {
            Some(_) => "the dialer has not returned, ",
            None => "",
        };
        ConnectError::Unreachable(StoreError::disconnected(format!(
            "not connected within {:?}: {dialer}the server says nothing, or the link is slow",
            self.connect_timeout
        )))
    }

    async fn explained(&self, error: ConnectError) -> ConnectError {
        match error {
            ConnectError::Unreachable(_) | ConnectError::Silent(_) => {
                self.fault_of_tls().await.map_or(error, ConnectError::Tls)
            }
            error => error,
        }
    }

    /// Connects once more to find the cause. A server that expects TLS just closes a plain connection, and the alert of
    /// a server that refuses the client may be lost together with unread bytes.
    async fn fault_of_tls(&self) -> Option<TlsError> {
        let Route::Fixed(address) = &self.route else {
            return None;
        };
        let transport = &self.access.transport;
        if transport.tls.is_none() {
            return wire::speaks_tls(address, transport.dialer.as_ref())
                .await
                .then_some(TlsError::Required);
        }
        let limits = Limits::new(USUAL_SILENCE, USUAL_SILENCE);
        let opened = Connection::open(address, transport, limits).await;
        let error = match opened {
            Ok(mut connection) => connection.next().await.err()?,
            Err(error) => error,
        };
        TlsError::of_io(&error).cloned()
    }

    async fn prepared(&self, limits: Limits) -> Result<Ready, ConnectError> {
        let name = match self.reads {
            true => READER.to_owned(),
            false => format!("auto_mutex:{}", self.member),
        };
        let server = self.route.resolve(limits).await?;
        let (address, access) = (&server.address, &self.access);
        let in_cluster = self.scripts.are_of_cluster();
        let greeted = hello::open(address, access, in_cluster, Some(&name), limits).await?;
        hello::accept_primary(&greeted.role)?;
        let Greeted {
            mut connection,
            takes_introductions,
            granted,
            ..
        } = greeted;
        let introduces = takes_introductions && !self.reads;
        let (login, time) = (&self.access.login, self.connect_timeout);
        let renewal = Renewal::new(login, &server.address, time, granted.terms);
        let scripts = &*self.scripts;
        let (missing, lag) = self.loaded(&mut connection, introduces, limits).await?;
        let knew_scripts = missing.is_empty();
        if !knew_scripts {
            let key = self.guard.keys.of_loading().filter(|_| !self.reads);
            loading::supply(
                &mut connection,
                scripts,
                key.as_deref(),
                self.member,
                missing,
            )
            .await?;
        }
        let term = match self.reads {
            true => Term::default(),
            false => Term::ask(&mut connection, scripts, &self.guard, lag).await?,
        };
        Ok(Ready {
            server,
            connection,
            term,
            renewal,
            knew_scripts,
        })
    }

    /// Waits until the server has loaded its data. Returns the scripts that the server lacks, and the server's lag.
    async fn loaded(
        &self,
        connection: &mut Connection,
        introduces: bool,
        limits: Limits,
    ) -> Result<(Vec<&str>, Duration), ConnectError> {
        let until = limits.at_most(LOADING).end;
        let mut backoff = Backoff::new(FIRST_PAUSE, USUAL_SILENCE);
        loop {
            let error = match self.known(connection, introduces).await {
                Err(error @ ConnectError::Passing(_)) => error,
                known => return known,
            };
            let pause = backoff.pause();
            if Instant::now() + pause >= until {
                return Err(error);
            }
            sleep(pause).await;
        }
    }

    async fn known(
        &self,
        connection: &mut Connection,
        introduces: bool,
    ) -> Result<(Vec<&str>, Duration), ConnectError> {
        let mut question = Vec::new();
        let introduced = introduces && self.introduction.write(&mut question);
        let db = self.access.db;
        if db != 0 {
            // Every connection begins with database 0.
            let mut select = redis::cmd("SELECT");
            select.arg(db).write_packed_command(&mut question);
        }
        loading::ask(&mut question, &self.scripts);
        term::ask_lag(&mut question);
        connection.send(&question).await?;
        if introduced {
            self.introduction.hear(connection).await?;
        }
        // All replies are read before an error is returned: the connection stays usable for the next query.
        let selected = match db {
            0 => Ok(()),
            db => {
                let reply = accept(connection.reply().await?);
                reply.map(drop).map_err(|error| error.of_select(db))
            }
        };
        let missing = loading::missing(connection.reply().await?, &self.scripts);
        let lag = term::lag(&connection.reply().await?);
        selected.and(missing).map(|missing| (missing, lag))
    }

    /// Connects and subscribes. The first connection checks the server.
    async fn open(&self, limits: Limits) -> Result<Ready, ConnectError> {
        // On the heap: the driver's future lives as long as the store, and shouldn't reserve space for this one.
        let mut ready = Box::pin(self.prepared(limits)).await?;
        let connection = &mut ready.connection;
        let mut question = redis::cmd("SUBSCRIBE");
        question.arg(command::channel(self.member));
        connection.send(&question.get_packed_command()).await?;
        // The server answers SUBSCRIBE with a push, or with an error.
        loop {
            match accept(connection.next().await?)? {
                Value::Push(words) if words.first() == Some(&Value::Text(b"subscribe")) => break,
                _ => {}
            }
        }
        if self.is_unchecked() {
            Box::pin(self.check(&mut ready)).await?;
        }
        Ok(ready)
    }
}
