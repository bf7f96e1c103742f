//! Standalone Redis: over TCP, over TLS, through a dialer of the program, without handoffs, and with minimal rights.

use auto_mutex::Config;
use tokio::net::TcpStream;

use super::pool::{Lent, Pool, Reusable, empty};
use super::{TestStore, config};
use crate::authority::Authority;
use crate::redis::{Options, Redis};

static PLAIN: Pool<Redis> = Pool::new();
static RULED: Pool<Ruled> = Pool::new();
static SECURE: Pool<Secure> = Pool::new();

/// A redis-server for one test.
pub struct OnRedis(Lent<Redis>);

/// A redis-server for clients without handoff: they send every release to the store.
pub struct WithoutHandoff(Lent<Redis>);

/// A redis-server whose user has only the rights that `acl_rule` names.
pub struct UnderTheRule(Lent<Ruled>);

/// A redis-server over TLS.
pub struct OverTls(Lent<Secure>);

/// A redis-server to which clients connect through a dialer of the program.
pub struct ByDialer(Lent<Redis>);

struct Ruled(Redis);

struct Secure(Redis);

impl OnRedis {
    /// Takes an idle server, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(PLAIN.take())
    }
}

impl WithoutHandoff {
    /// Takes an idle server, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(PLAIN.take())
    }
}

impl UnderTheRule {
    /// Takes an idle server, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(RULED.take())
    }
}

impl OverTls {
    /// Takes an idle server, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(SECURE.take())
    }
}

impl ByDialer {
    /// Takes an idle server, or starts a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(PLAIN.take())
    }
}

impl Reusable for Redis {
    fn start() -> Self {
        Redis::start()
    }

    fn empty(&self) -> bool {
        empty(self)
    }
}

impl Reusable for Ruled {
    fn start() -> Self {
        Self(Redis::with(Options::default().least_rights()))
    }

    fn empty(&self) -> bool {
        empty(&self.0)
    }
}

impl Reusable for Secure {
    fn start() -> Self {
        let authority = Authority::new();
        let mut redis = Redis::with(Options::default().tls(&authority, authority.issue()));
        // A pool is never dropped, and would leave the directory of the authority. A server's own directory is deleted when
        // the test process ends.
        redis.copy_ca();
        Self(redis)
    }

    fn empty(&self) -> bool {
        empty(&self.0)
    }
}

impl TestStore for OnRedis {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }
}

impl TestStore for WithoutHandoff {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }

    fn config(&self) -> Config {
        config(self.url()).local_handoff(0, "0s")
    }
}

impl TestStore for UnderTheRule {
    fn url(&self) -> String {
        self.0.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0.0)
    }
}

impl TestStore for OverTls {
    fn url(&self) -> String {
        self.0.0.tls_url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0.0)
    }
}

impl TestStore for ByDialer {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }

    fn config(&self) -> Config {
        config(self.url()).dialer(|host, port| async move {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        })
    }
}
