//! One suite for every store: tests take a [`TestStore`], and [`conformance!`](crate::conformance) runs them on each
//! store.

mod cluster;
mod memory;
mod pool;
mod quorum;
mod redis;
mod sentinel;
mod toy;

use std::pin::Pin;
use std::time::Duration;

use auto_mutex::{Client, Config};

pub use cluster::OnCluster;
pub use memory::Memory;
pub use quorum::{OnQuorum, quorum_url};
pub use redis::{ByDialer, OnRedis, OverTls, UnderTheRule, WithoutHandoff};
pub use sentinel::OnSentinel;
pub use toy::Toy;

use crate::events::{LONG, PATIENCE, finishes_within};
use crate::redis::Redis;
use crate::runtimes::current_thread;
use crate::stalls::despite_stalls;

/// A store for one test, with any number of members.
pub trait TestStore: Send + Sync {
    /// The URL that all members of the store connect to.
    fn url(&self) -> String;

    /// The server of the store, if there is just one.
    fn server(&self) -> Option<&Redis> {
        None
    }

    /// Servers that a test can suspend so that the store does not answer; empty if that is impossible.
    fn to_silence(&self) -> Vec<&Redis> {
        self.server().into_iter().collect()
    }

    /// Deletes the store's state of the lock `name`; `false` if that is impossible.
    fn forget(&self, name: &str) -> bool {
        let forget = |server: &Redis| drop(server.command(&["DEL", &key(name)]));
        self.server().map(forget).is_some()
    }

    /// A configuration for a new member, with a lease that outlasts the test, so that no event in it is caused by the
    /// end of a lease.
    fn config(&self) -> Config {
        config(self.url())
    }

    /// A new member, with the lease of [`config`](Self::config).
    fn member(&self) -> Client {
        Client::connect(self.config()).expect("a client")
    }

    /// A new member with a short lease, for tests of the lease's end.
    fn brief_member(&self) -> Client {
        Client::connect(self.config().lease(BRIEF)).expect("a client")
    }
}

/// The key of a lock of the suite.
fn key(name: &str) -> String {
    format!("auto_mutex:{{suite:{name}}}")
}

fn config(url: String) -> Config {
    let config = Config::new(url).expect("a good URL");
    config.namespace("suite").lease(LONG).connect_timeout("60s")
}

/// A lease short enough that a test can wait for its end, and long enough to be renewed in time on a slow machine.
pub const BRIEF: Duration = Duration::from_secs(4);

/// A test of the suite, for any store.
pub type Case = for<'a> fn(&'a dyn TestStore) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs `case` on a `new` store in a current-thread runtime, with a time limit.
#[track_caller]
pub fn run<S: TestStore + 'static>(new: fn() -> S, case: Case) {
    despite_stalls(|| {
        let store: Box<dyn TestStore> = Box::new(new());
        finishes_within(4 * PATIENCE, "the test ends", move || {
            current_thread().block_on(case(&*store));
        });
    });
}

/// Makes a `#[test]` of each listed function on each store: `conformance! { module: a_test, #[needs(order)] another; …
/// }`. The functions are `async fn(&dyn TestStore)` in modules of the crate. If a store lacks what a test needs, the
/// test is ignored there, with the reason.
///
/// Each function is compiled once, as a [`Case`], and not once for each store.
#[macro_export]
macro_rules! conformance {
    ($($module:ident: $($(#[needs($what:ident)])? $test:ident),+ $(,)?;)+) => {
        mod cases {
            $(pub(super) mod $module {
                use $crate::stores::TestStore;
                type Running<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;
                $(pub(crate) fn $test(store: &dyn TestStore) -> Running<'_> {
                    Box::pin(super::super::$module::$test(store))
                })+
            })+
        }
        $crate::conformance!(@store memory Memory $($module: $($test)+;)+);
        $crate::conformance!(@store toy Toy $($module: $($test)+;)+);
        $crate::conformance!(@store redis OnRedis $($module: $($test)+;)+);
        $crate::conformance!(@store sentinel OnSentinel $($module: $($test)+;)+);
        $crate::conformance!(@store cluster OnCluster $($module: $($test)+;)+);
        $crate::conformance!(@store redis_over_tls OverTls $($module: $($test)+;)+);
        $crate::conformance!(@store redis_by_a_dialer ByDialer $($module: $($test)+;)+);
        $crate::conformance!(@store redis_under_the_rule UnderTheRule $($module: $($test)+;)+);
        $crate::conformance!(@store redis_without_handoff WithoutHandoff $($module: $($test)+;)+);
        mod quorum {
            $(mod $module {
                $($crate::conformance!(@quorum $module $test $($what)?);)+
            })+
        }
    };
    (@store $store:ident $kind:ident $($module:ident: $($test:ident)+;)+) => {
        mod $store {
            $(mod $module {
                $($crate::conformance!(@test $module $test $kind);)+
            })+
        }
    };
    (@quorum $module:ident $test:ident order) => {
        $crate::conformance!(@test $module $test OnQuorum
            #[ignore = "a quorum has no queue: nobody is served first because he came first"]);
    };
    (@quorum $module:ident $test:ident signals) => {
        $crate::conformance!(@test $module $test OnQuorum
            #[ignore = "the servers of a quorum cannot hand out the tokens of a semaphore once each"]);
    };
    (@quorum $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test OnQuorum);
    };
    (@test $module:ident $test:ident $kind:ident $(#[$ignored:meta])?) => {
        $(#[$ignored])?
        #[test]
        fn $test() {
            $crate::stores::run($crate::stores::$kind::new, super::super::cases::$module::$test);
        }
    };
}
