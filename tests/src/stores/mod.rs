//! One suite, every store: a test takes a [`TestStore`] and is run on each by [`conformance!`](crate::conformance).

mod cluster;
mod memory;
mod quorum;
mod redis;
mod sentinel;

use std::time::Duration;

use auto_mutex::{Client, Config};

pub use cluster::OnCluster;
pub use memory::Memory;
pub use quorum::{OnQuorum, quorum_url};
pub use redis::{OnRedis, OverTls, UnderTheRule, WithoutHandover};
pub use sentinel::OnSentinel;

use crate::events::{LONG, finishes_within};
use crate::redis::Redis;
use crate::runtimes::current_thread;

/// A store that nobody else uses, with as many members as a test wants.
pub trait TestStore: Send + Sync {
    /// The URL that all its members connect to.
    fn url(&self) -> String;

    /// The server behind it, if there is just one.
    fn server(&self) -> Option<&Redis> {
        None
    }

    /// A configuration for a new member, with a lease that no test outlives: what happens in time did not
    /// wait for its end.
    fn config(&self) -> Config {
        config(self.url())
    }

    /// A new member, with the lease of [`config`](Self::config).
    fn member(&self) -> Client {
        Client::connect(self.config()).expect("a client")
    }

    /// A new member with a short lease, for what is about its end.
    fn brief_member(&self) -> Client {
        Client::connect(self.config().lease(BRIEF)).expect("a client")
    }
}

fn config(url: String) -> Config {
    let config = Config::new(url).expect("a good URL");
    config.namespace("suite").lease(LONG).connect_timeout(60)
}

/// A lease whose end a test can wait for, long enough to be renewed in time on a slow machine.
pub const BRIEF: Duration = Duration::from_secs(4);

/// Runs `test` on `store`, in a current-thread runtime, with an end to the patience.
#[track_caller]
pub fn run<S, T>(store: S, test: T)
where
    S: TestStore + 'static,
    T: AsyncFnOnce(&dyn TestStore) + Send + 'static,
{
    finishes_within(Duration::from_secs(90), "the test ends", move || {
        current_thread().block_on(test(&store));
    });
}

/// Makes a `#[test]` on each store of every function named: `conformance! { module: a_test, #[needs(order)] another; … }`.
/// They are `async fn(&dyn TestStore)` in modules of the crate. What a store cannot give is ignored there, with the reason.
#[macro_export]
macro_rules! conformance {
    ($($module:ident: $($(#[needs($what:ident)])? $test:ident),+ $(,)?;)+) => {
        mod memory {
            $(mod $module {
                $($crate::conformance!(@test $module $test $crate::stores::Memory);)+
            })+
        }
        mod redis {
            $(mod $module {
                $($crate::conformance!(@test $module $test $crate::stores::OnRedis);)+
            })+
        }
        mod sentinel {
            $(mod $module {
                $(#[test]
                fn $test() {
                    $crate::stores::run($crate::stores::OnSentinel::new(), super::super::$module::$test);
                })+
            })+
        }
        mod cluster {
            $(mod $module {
                $(#[test]
                fn $test() {
                    $crate::stores::run($crate::stores::OnCluster::new(), super::super::$module::$test);
                })+
            })+
        }
        mod redis_over_tls {
            $(mod $module {
                $($crate::conformance!(@test $module $test $crate::stores::OverTls);)+
            })+
        }
        mod redis_under_the_rule {
            $(mod $module {
                $($crate::conformance!(@test $module $test $crate::stores::UnderTheRule);)+
            })+
        }
        mod redis_without_handover {
            $(mod $module {
                $($crate::conformance!(@test $module $test $crate::stores::WithoutHandover);)+
            })+
        }
        mod quorum {
            $(mod $module {
                $($crate::conformance!(@quorum $module $test $($what)?);)+
            })+
        }
    };
    (@quorum $module:ident $test:ident order) => {
        #[ignore = "a quorum has no queue: nobody is served first because he came first"]
        #[test]
        fn $test() {
            $crate::stores::run($crate::stores::OnQuorum::new(), super::super::$module::$test);
        }
    };
    (@quorum $module:ident $test:ident signals) => {
        #[ignore = "the servers of a quorum cannot hand out the tokens of a semaphore once each"]
        #[test]
        fn $test() {
            $crate::stores::run($crate::stores::OnQuorum::new(), super::super::$module::$test);
        }
    };
    (@quorum $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test $crate::stores::OnQuorum);
    };
    (@test $module:ident $test:ident $store:path) => {
        #[test]
        fn $test() {
            use $store as Store;
            $crate::stores::run(Store::new(), super::super::$module::$test);
        }
    };
}
