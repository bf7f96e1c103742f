//! A connection, from the first byte to the confirmed subscription.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::refusal::Refusal;
use super::reign::{self, Guard, Reign};
use super::scripts::Scripts;
use super::wire::{self, Connection, Value};
use super::{check, command, error, probe};
use crate::config::{Address, RedisEndpoint};
use crate::error::{SetupError, StoreError, TlsError};
use crate::store::MemberId;

/// How long a server that loads its data is left alone.
const LOADING_PAUSE: Duration = Duration::from_millis(50);
/// How long one attempt to reconnect may take.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Opens connections of one member to one server.
pub(super) struct Connector {
    endpoint: RedisEndpoint,
    pub(super) member: MemberId,
    pub(super) scripts: Arc<Scripts>,
    guard: Guard,
}

/// A connection that is fit for use.
pub(super) struct Ready {
    pub(super) connection: Connection,
    pub(super) reign: Reign,
}

impl Connector {
    pub(super) fn new(endpoint: &RedisEndpoint, member: MemberId, guard: Guard) -> Self {
        Self {
            endpoint: endpoint.clone(),
            member,
            scripts: Arc::new(Scripts::new()),
            guard,
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.endpoint.address
    }

    /// The first connection, with all checks. Waits for a server that is loading its data.
    pub(super) async fn first(&self, connect_timeout: Duration) -> Result<Ready, SetupError> {
        let mut loading = None;
        let end = Instant::now() + connect_timeout;
        let opened = timeout_at(end, async {
            loop {
                match self.open_and_probe(end).await {
                    Err(Refusal::Unreachable(_)) if self.should_speak_tls().await => {
                        return Err(Refusal::Tls(TlsError::Required));
                    }
                    Err(Refusal::Loading(error)) => loading = Some(error),
                    result => return result,
                }
                sleep(LOADING_PAUSE).await;
            }
        })
        .await;
        let result = opened.unwrap_or_else(|_| {
            let silence =
                || StoreError::disconnected(format!("no answer within {connect_timeout:?}"));
            Err(Refusal::Unreachable(loading.unwrap_or_else(silence)))
        });
        result.map_err(|refusal| refusal.at(self.address()))
    }

    /// The next connection, after one was lost.
    pub(super) async fn again(&self) -> Result<Ready, SetupError> {
        let silence =
            || Refusal::Unreachable(StoreError::disconnected("the server does not answer"));
        let end = Instant::now() + ATTEMPT;
        let opened = timeout_at(end, self.open(end)).await;
        let result = opened.unwrap_or_else(|_| Err(silence()));
        result.map_err(|refusal| refusal.at(self.address()))
    }

    /// Whether it is TLS that is missing: a server that waits for it just closes the connection.
    async fn should_speak_tls(&self) -> bool {
        self.endpoint.access.tls.is_none() && wire::speaks_tls(self.address()).await
    }

    /// What `connecting` comes to, if it does within `limit`.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        connecting: impl Future<Output = Result<T, SetupError>>,
    ) -> Result<T, SetupError> {
        timeout(limit, connecting).await.unwrap_or_else(|_| {
            let silence = StoreError::disconnected(format!("no answer within {limit:?}"));
            Err(Refusal::Unreachable(silence).at(self.address()))
        })
    }

    async fn open_and_probe(&self, end: Instant) -> Result<Ready, Refusal> {
        let mut ready = self.open(end).await?;
        probe::run(&mut ready.connection, &self.scripts, self.member).await?;
        check::memory_policy(&mut ready.connection, self.address()).await;
        Ok(ready)
    }

    /// A connection beside the one that [`open`](Self::open) made, for requests that have no messages for answers.
    pub(super) async fn beside(&self) -> Result<Ready, SetupError> {
        let prepared = self.prepared(Instant::now() + ATTEMPT).await;
        prepared.map_err(|refusal| refusal.at(self.address()))
    }

    /// Connects and logs in, checks who answers, loads the scripts, asks from when on it grants.
    async fn prepared(&self, end: Instant) -> Result<Ready, Refusal> {
        let lost = |error| Refusal::of_socket(&error);
        let tls = self.endpoint.access.tls.as_ref();
        let opened = Connection::open(self.address(), tls, end).await;
        let mut connection = opened.map_err(lost)?;
        let mut question = Vec::new();
        self.greet(&mut question);
        connection.send(&question).await.map_err(lost)?;
        check::greeting(&connection.reply().await.map_err(lost)?)?;
        question.clear();
        let replies = self.prepare(&mut question);
        connection.send(&question).await.map_err(lost)?;
        for _ in 0..replies {
            accept(&connection.reply().await.map_err(lost)?)?;
        }
        let lag = reign::lag(&connection.reply().await.map_err(lost)?);
        let reign = reign::check(&mut connection, &self.scripts, &self.guard, lag).await?;
        Ok(Ready { connection, reign })
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

    fn greet(&self, out: &mut Vec<u8>) {
        wire::command(out, |words| {
            words.texts(&["HELLO", "3"]);
            if let Some(password) = &self.endpoint.access.login.password {
                words.text("AUTH");
                let user = self.endpoint.access.login.user.as_ref();
                words.text(user.map_or("default", |user| user.expose()));
                words.text(password.expose());
            }
            words.text("SETNAME");
            words.word(format_args!("auto_mutex:{}", self.member));
        });
    }

    /// Returns the number of replies that must be good; after them comes that about the lag.
    fn prepare(&self, out: &mut Vec<u8>) -> usize {
        let mut replies = 0;
        if self.endpoint.access.db != 0 {
            replies += 1;
            wire::command(out, |words| {
                words.text("SELECT");
                words.number(self.endpoint.access.db.into());
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

fn accept(reply: &Value<'_>) -> Result<(), Refusal> {
    match reply {
        Value::Error(error) => Err(Refusal::of(error::of_server(error))),
        _ => Ok(()),
    }
}
