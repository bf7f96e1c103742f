//! Redis, standalone, over TCP, over TLS, and by connections of the program.

use auto_mutex::Config;
use tokio::net::TcpStream;

use super::pool::{Lent, Pool, Reusable, empty};
use super::{TestStore, config};
use crate::authority::Authority;
use crate::redis::{Options, Redis};

static PLAIN: Pool<Redis> = Pool::new();
static RULED: Pool<Ruled> = Pool::new();
static SECURE: Pool<Secure> = Pool::new();

/// A redis-server that a test has for itself.
pub struct OnRedis(Lent<Redis>);

/// The same, where every release goes to the store: nothing is handed on inside a process.
pub struct WithoutHandover(Lent<Redis>);

/// A redis-server whose user may do what `acl_rule` says, and no more.
pub struct UnderTheRule(Lent<Ruled>);

/// A redis-server that is talked to over TLS.
pub struct OverTls(Lent<Secure>);

/// A redis-server whose connections the program makes.
pub struct ByDialer(Lent<Redis>);

struct Ruled(Redis);

struct Secure {
    redis: Redis,
    // The certificate's file is read again by whoever reconnects.
    _authority: Authority,
}

impl OnRedis {
    /// One that is idle, or a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(PLAIN.take())
    }
}

impl WithoutHandover {
    /// One that is idle, or a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(PLAIN.take())
    }
}

impl UnderTheRule {
    /// One that is idle, or a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(RULED.take())
    }
}

impl OverTls {
    /// One that is idle, or a new one.
    #[expect(clippy::new_without_default, reason = "starts a process")]
    pub fn new() -> Self {
        Self(SECURE.take())
    }
}

impl ByDialer {
    /// One that is idle, or a new one.
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
        let options = Options::default().tls(&authority, authority.issue());
        Self {
            redis: Redis::with(options),
            _authority: authority,
        }
    }

    fn empty(&self) -> bool {
        empty(&self.redis)
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

impl TestStore for WithoutHandover {
    fn url(&self) -> String {
        self.0.url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }

    fn config(&self) -> Config {
        config(self.url()).local_handover(0, 0)
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
        self.0.redis.tls_url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(&self.0.redis)
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
