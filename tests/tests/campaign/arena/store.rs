//! [`Store`]: the server of a contest.

use auto_mutex_tests::postgres::{Down, Postgres};
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::seed::Seed;

/// The server of a contest.
pub(crate) enum Store {
    /// It keeps its data when it is killed.
    Redis(Redis),
    /// A crash empties its locks, and it is closed for a lease then.
    Postgres(Postgres),
}

impl Store {
    pub(crate) fn redis() -> Self {
        Self::Redis(Redis::with(Options::default().survives_kills()))
    }

    pub(crate) fn postgres() -> Self {
        Self::Postgres(Postgres::start().expect("PostgreSQL"))
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Redis(redis) => redis.url(),
            Self::Postgres(postgres) => postgres.url(),
        }
    }

    /// Cuts all connections. The clients connect again.
    pub(crate) fn cut(&self) {
        match self {
            Self::Redis(redis) => {
                redis.command(&["SCRIPT", "FLUSH"]);
                redis.kill_clients();
            }
            Self::Postgres(postgres) => postgres.terminate_clients(),
        }
    }

    /// Restarts the server, in one of the ways in which it may end.
    pub(crate) fn restart(&self, seed: &mut Seed) {
        match self {
            Self::Redis(redis) => redis.restart(),
            Self::Postgres(postgres) => match seed.below(4) {
                0 => postgres.restart(Down::Fast),
                1 => postgres.restart(Down::Immediate),
                2 => postgres.restart(Down::Killed),
                _ => {
                    postgres.kill_backend(seed.below(100));
                    postgres.wait_until_up();
                }
            },
        }
    }

    pub(crate) fn is_free(&self) -> bool {
        match self {
            Self::Redis(redis) => redis.held() == 0 && redis.waiting() == 0,
            Self::Postgres(postgres) => postgres.held() == 0 && postgres.waiting() == 0,
        }
    }

    /// Asserts that nothing will stay for ever.
    pub(crate) fn look(&self) {
        if let Self::Redis(redis) = self {
            assert_eq!(
                redis.keys_without_ttl(),
                [],
                "a key that would stay for ever"
            );
        }
    }

    /// Asserts that what is left of unused locks has an end, and only keeps tokens.
    pub(crate) fn keeps_only_tokens(&self) {
        match self {
            Self::Redis(redis) => {
                for key in redis.keys() {
                    assert!(key.is_token() || key.is_gone_set(), "{key:?} is left");
                    let most = if key.is_gone_set() { 31_000 } else { 1_240_000 };
                    assert!((0..=most).contains(&key.ttl), "{key:?}");
                }
            }
            Self::Postgres(postgres) => {
                let left = "SELECT (SELECT count(*) FROM auto_mutex.tickets) + (SELECT count(*) FROM auto_mutex.signals) + \
                    (SELECT count(*) FROM auto_mutex.names WHERE held + waiting + signals > 0 OR (sole).ticket IS NOT NULL)";
                assert_eq!(postgres.ask(left), "0");
            }
        }
    }
}
