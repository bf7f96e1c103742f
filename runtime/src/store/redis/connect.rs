//! A connection, from the first byte to the confirmed subscription.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::check::Part;
use super::facts::Facts;
use super::refusal::Refusal;
use super::reign::{self, Guard, Reign};
use super::route::{Primary, Route};
use super::scripts::Scripts;
use super::wire::{self, Connection, Value, Words};
use super::{check, command, error, probe};
use crate::config::{Access, Address, Login};
use crate::error::{SetupError, StoreError, TlsError};
use crate::guarantees::Guarantees;
use crate::name::Name;
use crate::store::MemberId;

/// How long a server that loads its data is left alone.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a server to which nothing is said may take to say why it refuses us.
const SILENCE: Duration = Duration::from_secs(2);
/// How long one attempt to reconnect may take.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Opens connections of one member to one server.
pub(super) struct Connector {
    pub(super) route: Route,
    access: Access,
    part: Part,
    pub(super) member: MemberId,
    pub(super) scripts: Arc<Scripts>,
    pub(super) guard: Guard,
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
    ) -> Self {
        Self {
            route,
            access: access.clone(),
            part,
            member,
            scripts,
            guard,
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
                let refusal = match self.attempt(end, probe).await {
                    Err(refusal) => refusal,
                    ready => return ready,
                };
                if matches!(refusal, Refusal::Unreachable(_))
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
                    true => "no answer before the end of `connect_timeout`".to_owned(),
                    false => format!("no answer within {connect_timeout:?}"),
                };
                Refusal::Unreachable(StoreError::disconnected(text))
            }))
        });
        result.map_err(|refusal| refusal.at(&self.place()))
    }

    /// One attempt at the first connection. Where the server may be elsewhere by now, not all the time is spent on one.
    async fn attempt(&self, end: Instant, probe: &Name) -> Result<Ready, Refusal> {
        if let Route::Fixed(_) = self.route {
            return self.open_and_probe(end, probe).await;
        }
        let end = end.min(Instant::now() + ATTEMPT);
        let opened = timeout_at(end, self.open_and_probe(end, probe)).await;
        opened.unwrap_or_else(|_| Err(silence()))
    }

    /// The next connection, after one was lost.
    pub(super) async fn again(&self) -> Result<Ready, SetupError> {
        let end = Instant::now() + ATTEMPT;
        let opened = timeout_at(end, self.open(end)).await;
        let result = opened.unwrap_or_else(|_| Err(silence()));
        result.map_err(|refusal| refusal.at(&self.place()))
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
        let opened = Connection::open(address, tls, end).await;
        let error = match opened {
            Ok(mut connection) => timeout(SILENCE, connection.next()).await.ok()?.err()?,
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
            let silence = StoreError::disconnected(format!("no answer within {limit:?}"));
            Err(Refusal::Unreachable(silence).at(&self.place()))
        })
    }

    async fn open_and_probe(&self, end: Instant, probe: &Name) -> Result<Ready, Refusal> {
        let mut ready = self.open(end).await?;
        probe::run(&mut ready.connection, &self.scripts, self.member, probe).await?;
        let facts = Facts::ask(&mut ready.connection).await;
        let facts = facts.map_err(|error| Refusal::of_socket(&error))?;
        self.facts.get_or_init(|| facts);
        Ok(ready)
    }

    /// A connection beside the one that [`open`](Self::open) made, for requests that have no messages for answers.
    pub(super) async fn beside(&self) -> Result<Ready, SetupError> {
        let prepared = self.prepared(Instant::now() + ATTEMPT).await;
        prepared.map_err(|refusal| refusal.at(&self.place()))
    }

    /// Connects and logs in, checks who answers, loads the scripts, asks from when on it grants.
    async fn prepared(&self, end: Instant) -> Result<Ready, Refusal> {
        let lost = |error| Refusal::of_socket(&error);
        let server = self.route.resolve(end).await?;
        let mut question = Vec::new();
        wire::command(&mut question, |words| {
            greet(words, &self.access.login);
            words.text("SETNAME");
            words.word(format_args!("auto_mutex:{}", self.member));
        });
        let mut connection = hail(&server.address, &self.access, self.part, &question, end).await?;
        question.clear();
        let replies = self.prepare(&mut question);
        connection.send(&question).await.map_err(lost)?;
        for _ in 0..replies {
            accept(&connection.reply().await.map_err(lost)?)?;
        }
        let lag = reign::lag(&connection.reply().await.map_err(lost)?);
        let reign = reign::check(&mut connection, &self.scripts, &self.guard, lag).await?;
        Ok(Ready {
            server,
            connection,
            reign,
        })
    }

    /// Connects, and subscribes.
    async fn open(&self, end: Instant) -> Result<Ready, Refusal> {
        let lost = |error| Refusal::of_socket(&error);
        let mut ready = self.prepared(end).await?;
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

    /// Returns the number of replies that must be good; after them comes that about the lag.
    fn prepare(&self, out: &mut Vec<u8>) -> usize {
        let mut replies = 0;
        if self.access.db != 0 {
            replies += 1;
            wire::command(out, |words| {
                words.text("SELECT");
                words.number(self.access.db.into());
            });
        }
        for text in self.scripts.texts() {
            replies += 1;
            wire::command(out, |words| {
                words.texts(&["SCRIPT", "LOAD", text]);
            });
        }
        reign::ask_lag(out);
        replies
    }
}

fn silence() -> Refusal {
    Refusal::Unreachable(StoreError::disconnected("the server does not answer"))
}

/// Connects, and checks who answers to `greeting`.
pub(super) async fn hail(
    address: &Address,
    access: &Access,
    part: Part,
    greeting: &[u8],
    end: Instant,
) -> Result<Connection, Refusal> {
    let lost = |error| Refusal::of_socket(&error);
    let opened = Connection::open(address, access.tls.as_ref(), end).await;
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

fn accept(reply: &Value<'_>) -> Result<(), Refusal> {
    match reply {
        Value::Error(error) => Err(Refusal::of(error::of_server(error))),
        _ => Ok(()),
    }
}
