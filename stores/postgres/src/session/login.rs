//! Connects and logs in, with the credentials of the URL or of a provider.

use std::env;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use auto_mutex_core::store::{Address, ConnectError};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, SslNegotiation};

use super::{Connector, Session};
use crate::error;
use crate::socket::{self, Agreed};

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
