//! A connection, from the first byte to the confirmed subscription.

use std::sync::Arc;
use std::time::Duration;

use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo as _, ProtocolVersion,
    RedisConnectionInfo, RedisError, Value,
};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{sleep, timeout};

use super::link::{FLIGHTS, Link};
use super::refusal::Refusal;
use super::scripts::Scripts;
use super::{check, command, error, probe};
use crate::config::{Address, RedisEndpoint};
use crate::error::{SetupError, StoreError};
use crate::store::MemberId;

/// A dead peer is noticed by the watchdog of a link; these help where it cannot look: in the kernel.
const KEEPALIVE: Duration = Duration::from_secs(10);
const USER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a server that loads its data is left alone.
const LOADING_PAUSE: Duration = Duration::from_millis(50);
/// How long one attempt to reconnect may take.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Opens connections of one member to one server.
pub(super) struct Connector {
    endpoint: RedisEndpoint,
    pub(super) member: MemberId,
    pub(super) scripts: Arc<Scripts>,
}

impl Connector {
    pub(super) fn new(endpoint: &RedisEndpoint, member: MemberId) -> Self {
        Self {
            endpoint: endpoint.clone(),
            member,
            scripts: Arc::new(Scripts::new()),
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.endpoint.address
    }

    /// The first connection, with all checks. Waits for a server that is loading its data.
    pub(super) async fn first(&self, connect_timeout: Duration) -> Result<Link, SetupError> {
        let mut loading = None;
        let opened = timeout(connect_timeout, async {
            loop {
                match self.open_and_probe().await {
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
    pub(super) async fn again(&self) -> Result<Link, SetupError> {
        let silence =
            || Refusal::Unreachable(StoreError::disconnected("the server does not answer"));
        let opened = timeout(ATTEMPT, self.open()).await;
        let result = opened.unwrap_or_else(|_| Err(silence()));
        result.map_err(|refusal| refusal.at(self.address()))
    }

    async fn open_and_probe(&self) -> Result<Link, Refusal> {
        let mut link = self.open().await?;
        probe::run(&mut link, &self.scripts, self.member).await?;
        check::memory_policy(&mut link, self.address()).await;
        link.drain();
        Ok(link)
    }

    /// Connects and logs in, checks who answers, loads the scripts, subscribes.
    async fn open(&self) -> Result<Link, Refusal> {
        let (pushes, received) = unbounded_channel();
        let config = AsyncConnectionConfig::new()
            // Whoever calls has a time-out for everything together; later the link has its watchdog.
            .set_connection_timeout(None)
            .set_response_timeout(None)
            // More than are ever under way: writing never waits.
            .set_pipeline_buffer_size(2 * FLIGHTS)
            .set_push_sender(pushes);
        let failed = |error: RedisError| Refusal::of_client(&error);
        let client = self.client().map_err(failed)?;
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(failed)?;
        let mut link = Link::new(connection, received);
        let mut greeting = redis::pipe();
        greeting
            .cmd("HELLO")
            .arg(3)
            .arg("SETNAME")
            .arg(format!("auto_mutex:{}", self.member));
        for text in self.scripts.texts() {
            greeting.cmd("SCRIPT").arg("LOAD").arg(text);
        }
        let replies = link.exchange(&greeting).await.map_err(failed)?;
        let mut replies = replies.into_iter();
        check::greeting(&replies.next().unwrap_or(Value::Nil))?;
        for reply in replies {
            if let Value::ServerError(error) = reply {
                return Err(Refusal::of(error::of_server(&error)));
            }
        }
        link.subscribe(&command::channel(self.member))
            .await
            .map_err(failed)?;
        Ok(link)
    }

    fn client(&self) -> Result<Client, RedisError> {
        let endpoint = &self.endpoint;
        let mut login = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_db(i64::from(endpoint.db))
            .set_skip_set_lib_name();
        if let Some(user) = &endpoint.user {
            login = login.set_username(user.expose());
        }
        if let Some(password) = &endpoint.password {
            login = login.set_password(password.expose());
        }
        let address = match &endpoint.address {
            Address::Tcp { host, port } => ConnectionAddr::Tcp(host.clone(), *port),
            Address::Unix(path) => ConnectionAddr::Unix(path.clone()),
        };
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE)
            .with_interval(KEEPALIVE);
        let tcp = TcpSettings::default()
            .set_nodelay(true)
            .set_keepalive(keepalive);
        #[cfg(any(target_os = "android", target_os = "linux"))]
        let tcp = tcp.set_user_timeout(USER_TIMEOUT);
        let info = address
            .into_connection_info()?
            .set_tcp_settings(tcp)
            .set_redis_settings(login);
        Client::open(info)
    }
}
