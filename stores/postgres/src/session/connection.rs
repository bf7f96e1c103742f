//! [`Session`]: a connection, from the login with the credentials of the URL or of a provider on, while it is set up.

use std::env;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use auto_mutex_seam::store::{Address, ConnectError, Trouble, first};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::{Client, Config, Connection, Error, SimpleQueryMessage, SimpleQueryRow};

use super::Connector;
use crate::socket::{self, Agreed, Channel};
use crate::{error, reply};

impl Connector {
    pub(super) async fn session(
        &self,
        server: &Address,
        silence: Duration,
    ) -> Result<Session, ConnectError> {
        let postgres = &self.postgres;
        let mut config = self.config(server).await?;
        let end = Instant::now() + silence;
        let connecting = async {
            let channel = socket::open(postgres, server, end).await;
            let channel = channel.map_err(|error| error::of_io(&error))?;
            // TLS is there already, or not.
            config.ssl_mode(SslMode::Disable);
            if channel.is_secure {
                config.ssl_mode(SslMode::Require);
                config.ssl_negotiation(SslNegotiation::Direct);
            }
            let pid = channel.pid.clone();
            let connected = config.connect_raw(channel, Agreed).await;
            let (client, connection) =
                connected.map_err(|error| error::of_login(&error, config.get_user()))?;
            Ok(Session {
                client: Arc::new(client),
                connection,
                address: server.clone(),
                pid: pid.load(Ordering::Relaxed),
            })
        };
        let connected = timeout_at(end, connecting).await;
        connected.unwrap_or_else(|_| Err(silent()))
    }

    async fn config(&self, server: &Address) -> Result<Config, ConnectError> {
        let mut config = self.postgres.config.clone();
        if let Some(source) = &self.postgres.source {
            // Before the whole set-up is over, so that the error names the provider.
            let limit = self.options.connect_timeout.mul_f64(0.9);
            let asked = source.ask(server, limit).await;
            let granted = asked.map_err(ConnectError::Credentials)?;
            if let Some(user) = granted.user {
                config.user(user.expose());
            }
            if let Some(password) = granted.password {
                config.password(password.expose());
            }
        }
        if config.get_user().is_none()
            && let Ok(user) = env::var("PGUSER").or_else(|_| env::var("USER"))
        {
            config.user(user);
        }
        if config.get_application_name().is_none() {
            config.application_name("auto_mutex");
        }
        Ok(config)
    }
}

pub(super) fn silent() -> ConnectError {
    let text = "the server does not answer: does PostgreSQL run at this port?";
    io::Error::new(io::ErrorKind::TimedOut, text).into()
}

pub(crate) struct Session {
    pub(crate) client: Arc<Client>,
    pub(crate) connection: Connection<Channel, Channel>,
    pub(crate) address: Address,
    /// The process that the server has named at the login.
    pub(crate) pid: i32,
}

impl Session {
    /// Waits for answers to the client of this connection, which nobody else serves meanwhile. Messages that arrive are
    /// lost: once connected, a member asks for all that it waits for.
    pub(crate) async fn ask<T>(
        &mut self,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ConnectError> {
        let served = async {
            match (&mut self.connection).await {
                Ok(()) => {
                    let text = "the server closed the connection";
                    Err(ConnectError::unreachable(text))
                }
                Err(error) => Err(error::refused(&error)),
            }
        };
        let work = async { work.await.map_err(|error| error::refused(&error)) };
        first(work, served).await
    }

    /// Runs SQL without a result.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<(), ConnectError> {
        let client = self.client.clone();
        self.ask(client.batch_execute(sql)).await
    }

    /// The first row of a query.
    pub(crate) async fn row(&mut self, query: &str) -> Result<SimpleQueryRow, ConnectError> {
        let client = self.client.clone();
        let asked = self.ask(client.simple_query(query));
        rows(asked.await?).next().ok_or_else(nonsense)
    }
}

pub(super) fn nonsense() -> ConnectError {
    ConnectError::Unreachable(Trouble::Unreachable, reply::nonsense())
}

pub(crate) fn rows(answer: Vec<SimpleQueryMessage>) -> impl Iterator<Item = SimpleQueryRow> {
    answer.into_iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    })
}
