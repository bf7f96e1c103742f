//! Standalone Redis: over TCP, over TLS, and with minimal rights.

use auto_mutex::Config;

use super::pool::{Lent, Pool, empty};
use super::{TestStore, config};
use crate::authority::Authority;
use crate::redis::{Options, Redis};

static PLAIN: Pool<Redis> = Pool::new(Redis::start, empty);
static RULED: Pool<Redis> = Pool::new(|| Redis::with(Options::default().least_rights()), empty);
static SECURE: Pool<Redis> = Pool::new(secure, empty);

/// A redis-server for one test, and how its clients connect.
pub struct OnRedis(Lent<Redis>, fn(&Redis) -> Config);

fn plain(redis: &Redis) -> Config {
    config(redis.url())
}

fn secure() -> Redis {
    let authority = Authority::new();
    let mut redis = Redis::with(Options::default().tls(&authority, authority.issue()));
    // A pool is never dropped, and would leave the directory of the authority. A server's own directory is deleted when
    // the test process ends.
    redis.copy_ca();
    redis
}

/// A redis-server.
pub fn redis() -> OnRedis {
    OnRedis(PLAIN.take(), plain)
}

/// A redis-server whose user has only the rights that `acl_rule` names.
pub fn redis_under_the_rule() -> OnRedis {
    OnRedis(RULED.take(), plain)
}

/// A redis-server over TLS.
pub fn redis_over_tls() -> OnRedis {
    OnRedis(SECURE.take(), |redis| config(redis.tls_url()))
}

impl TestStore for OnRedis {
    fn server(&self) -> Option<&Redis> {
        Some(&self.0)
    }

    fn config(&self) -> Config {
        self.1(&self.0)
    }
}
