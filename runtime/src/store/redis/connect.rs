//! A connection, from the first byte to the confirmed subscription.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::backoff::Backoff;
use super::check::Part;
use super::facts::Facts;
use super::refusal::Refusal;
use super::reign::{self, Guard, Reign};
use super::route::{Primary, Route};
use super::scripts::Scripts;
use super::wire::{self, Connection, Limits, SILENCE, Value, Words, silent};
use super::{check, command, error, loading, probe};
use crate::config::{Access, Address, Login};
use crate::error::{SetupError, StoreError, TlsError};
use crate::guarantees::Guarantees;
use crate::name::Name;
use crate::store::MemberId;

/// How long a server is left alone that will do in a moment.
const PAUSE: Duration = Duration::from_millis(50);
/// How long one attempt waits for a server that loads its data.
const LOADING: Duration = Duration::from_secs(2);

/// Opens connections of one member to one server.
pub(super) struct Connector {
    pub(super) route: Route,
    access: Access,
    part: Part,
    pub(super) member: MemberId,
    pub(super) scripts: Arc<Scripts>,
    pub(super) guard: Guard,
    connect_timeout: Duration,
    /// Found by the first connection.
    facts: OnceLock<Facts>,
}

/// A connection that is fit for use.
pub(super) struct Ready {
    pub(super) server: Primary,
    pub(super) connection: Connection,
    pub(super) reign: Reign,
}

impl Connector {
    pub(super) fn new(
        route: Route,
        access: &Access,
        part: Part,
        member: MemberId,
        scripts: Arc<Scripts>,
        guard: Guard,
        connect_timeout: Duration,
    ) -> Self {
        Self {
            route,
            access: access.clone(),
            part,
            member,
            scripts,
            guard,
            connect_timeout,
            facts: OnceLock::new(),
        }
    }

    /// What errors and logs call the server.
    pub(super) fn place(&self) -> String {
        self.route.place()
    }

    /// What the server gives, as it was when the first connection was made, if it was.
    pub(super) fn guarantees(&self, replicas: u32) -> Guarantees {
        match self.facts.get() {
            Some(facts) => facts.guarantees(&self.guard, replicas),
            None => Guarantees::unknown(),
        }
    }

    /// The first connection, with all checks, for which `probe` is used. Waits for a server that is loading its data, or
    /// misses its replicas, and for a primary where there are sentinels.
    pub(super) async fn first(
        &self,
        connect_timeout: Duration,
        probe: &Name,
    ) -> Result<Ready, SetupError> {
        let mut passing = None;
        let end = Instant::now() + connect_timeout;
        let opened = timeout_at(end, async {
            loop {
                let left = end.saturating_duration_since(Instant::now());
                let refusal = match self.attempt(left, probe).await {
                    Err(refusal) => refusal,
                    ready => return ready,
                };
                if matches!(refusal, Refusal::Unreachable(_) | Refusal::Silent(_))
                    && let Some(fault) = self.fault_of_tls(end).await
                {
                    return Err(Refusal::Tls(fault));
                }
                // What the end has cut short says less than what was found out before.
                if let Some(known) = passing.take_if(|_| Instant::now() >= end) {
                    return Err(known);
                }
                passing = Some(self.route.judge(refusal)?);
                sleep(PAUSE).await;
            }
        })
        .await;
        let result = opened.unwrap_or_else(|_| {
            Err(passing.unwrap_or_else(|| {
                // (What came before, the finding of a cluster's nodes, may have taken it all.)
                let text = match connect_timeout.is_zero() {
                    true => "not connected before the end of `connect_timeout`".to_owned(),
                    false => format!(
                        "not connected within {connect_timeout:?}: the server says nothing, or the link is slow"
                    ),
                };
                Refusal::Unreachable(StoreError::disconnected(text))
            }))
        });
        result.map_err(|refusal| refusal.at(&self.place()))
    }

    /// One attempt at the first connection.
    async fn attempt(&self, left: Duration, probe: &Name) -> Result<Ready, Refusal> {
        let silence = match self.route {
            Route::Fixed(_) => left,
            // Where the server may be elsewhere by now, not all the time is spent on one.
            Route::Sentinel(_) => SILENCE,
        };
        self.open_and_probe(Limits::new(left, silence), probe).await
    }

    /// The next connection, after one was lost. A server that says nothing is given up after `silence`.
    pub(super) async fn again(&self, silence: Duration) -> Result<Ready, Refusal> {
        let limits = Limits::new(self.connect_timeout, silence);
        let opened = timeout_at(limits.end, self.open(limits)).await;
        opened.unwrap_or_else(|_| Err(Refusal::of_socket(&silent())))
    }

    /// Whether it is because of TLS that a connection was lost: who waits for it just closes the connection, and who
    /// refuses us after the handshake may not be heard where he has not read all that we said.
    async fn fault_of_tls(&self, end: Instant) -> Option<TlsError> {
        let Route::Fixed(address) = &self.route else {
            return None;
        };
        let tls = self.access.tls.as_ref();
        if tls.is_none() {
            return wire::speaks_tls(address)
                .await
                .then_some(TlsError::Required);
        }
        let left = end.saturating_duration_since(Instant::now());
        let opened = Connection::open(address, tls, Limits::new(left, SILENCE)).await;
        let error = match opened {
            Ok(mut connection) => connection.next().await.err()?,
            Err(error) => error,
        };
        error.get_ref()?.downcast_ref().cloned()
    }

    /// What `connecting` comes to, if it does within `limit`.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        connecting: impl Future<Output = Result<T, SetupError>>,
    ) -> Result<T, SetupError> {
        timeout(limit, connecting).await.unwrap_or_else(|_| {
            let silence = StoreError::disconnected(format!("not connected within {limit:?}"));
            Err(Refusal::Unreachable(silence).at(&self.place()))
        })
    }

    async fn open_and_probe(&self, limits: Limits, probe: &Name) -> Result<Ready, Refusal> {
        let mut ready = self.open(limits).await?;
        probe::run(&mut ready.connection, &self.scripts, self.member, probe).await?;
        let facts = Facts::ask(&mut ready.connection).await;
        let facts = facts.map_err(|error| Refusal::of_socket(&error))?;
        self.facts.get_or_init(|| facts);
        Ok(ready)
    }

    /// A connection beside the one that [`open`](Self::open) made, for requests that have no messages for answers.
    pub(super) async fn beside(&self) -> Result<Ready, SetupError> {
        let limits = Limits::new(self.connect_timeout, SILENCE);
        let prepared = timeout_at(limits.end, self.prepared(limits)).await;
        let prepared = prepared.unwrap_or_else(|_| Err(Refusal::of_socket(&silent())));
        let ready = prepared.map_err(|refusal| refusal.at(&self.place()))?;
        Ok(Ready {
            connection: ready.connection.without_limits(),
            ..ready
        })
    }

    /// Connects and logs in, checks who answers, sees to the scripts, asks from when on it grants.
    async fn prepared(&self, limits: Limits) -> Result<Ready, Refusal> {
        let server = self.route.resolve(limits).await?;
        let mut greeting = Vec::new();
        wire::command(&mut greeting, |words| {
            greet(words, &self.access.login);
            words.text("SETNAME");
            words.word(format_args!("auto_mutex:{}", self.member));
        });
        let access = &self.access;
        let mut connection = hail(&server.address, access, self.part, &greeting, limits).await?;
        let scripts = &*self.scripts;
        let (missing, lag) = self.loaded(&mut connection, limits).await?;
        if !missing.is_empty() {
            let key = self.guard.keys.of_loading();
            let (key, member) = (key.as_deref(), self.member);
            loading::supply(&mut connection, scripts, key, member, missing, limits).await?;
        }
        let reign = reign::check(&mut connection, scripts, &self.guard, lag).await?;
        Ok(Ready {
            server,
            connection,
            reign,
        })
    }

    /// Waits for a server that loads its data, and returns the scripts that it does not know, and its lag.
    async fn loaded(
        &self,
        connection: &mut Connection,
        limits: Limits,
    ) -> Result<(Vec<&str>, Duration), Refusal> {
        let until = limits.at_most(LOADING).end;
        let mut backoff = Backoff::new();
        loop {
            let refusal = match self.known(connection).await {
                Err(refusal @ Refusal::Passing(_)) => refusal,
                known => return known,
            };
            let pause = backoff.next();
            if Instant::now() + pause >= until {
                return Err(refusal);
            }
            sleep(pause).await;
        }
    }

    async fn known(&self, connection: &mut Connection) -> Result<(Vec<&str>, Duration), Refusal> {
        let lost = |error| Refusal::of_socket(&error);
        let mut question = Vec::new();
        if self.access.db != 0 {
            wire::command(&mut question, |words| {
                words.text("SELECT");
                words.number(self.access.db.into());
            });
        }
        loading::ask(&mut question, &self.scripts);
        reign::ask_lag(&mut question);
        connection.send(&question).await.map_err(lost)?;
        let selected = match self.access.db {
            0 => Ok(()),
            _ => accept(&connection.reply().await.map_err(lost)?),
        };
        let missing = loading::missing(&connection.reply().await.map_err(lost)?, &self.scripts);
        let lag = reign::lag(&connection.reply().await.map_err(lost)?);
        selected.and(missing).map(|missing| (missing, lag))
    }

    /// Connects, and subscribes.
    async fn open(&self, limits: Limits) -> Result<Ready, Refusal> {
        let lost = |error| Refusal::of_socket(&error);
        let mut ready = self.prepared(limits).await?;
        let connection = &mut ready.connection;
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            words.text("SUBSCRIBE");
            words.text(&command::channel(self.member));
        });
        connection.send(&question).await.map_err(lost)?;
        // Answered by a push, or by an error.
        loop {
            match connection.next().await.map_err(lost)? {
                Value::Push(words) if words.first() == Some(&Value::Text(b"subscribe")) => break,
                Value::Push(_) => {}
                reply => accept(&reply)?,
            }
        }
        Ok(ready)
    }
}

/// Connects, and checks who answers to `greeting`.
pub(super) async fn hail(
    address: &Address,
    access: &Access,
    part: Part,
    greeting: &[u8],
    limits: Limits,
) -> Result<Connection, Refusal> {
    let lost = |error| Refusal::of_socket(&error);
    let opened = Connection::open(address, access.tls.as_ref(), limits).await;
    let mut connection = opened.map_err(lost)?;
    connection.send(greeting).await.map_err(lost)?;
    check::greeting(&connection.reply().await.map_err(lost)?, part)?;
    Ok(connection)
}

/// The beginning of HELLO: the protocol, and who logs in.
pub(super) fn greet(words: &mut Words<'_>, who: &Login) {
    words.texts(&["HELLO", "3"]);
    if let Some(password) = &who.password {
        words.text("AUTH");
        let user = who.user.as_ref();
        words.text(user.map_or("default", |user| user.expose()));
        words.text(password.expose());
    }
}

pub(super) fn accept(reply: &Value<'_>) -> Result<(), Refusal> {
    match reply {
        Value::Error(error) => Err(Refusal::of(error::of_server(error))),
        _ => Ok(()),
    }
}
