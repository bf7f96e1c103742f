//! One suite for every store: tests take a [`TestStore`], and [`conformance!`](crate::conformance) runs them on each
//! store.

mod case;
mod cluster;
mod memory;
mod pool;
mod postgres;
mod quorum;
mod redis;
mod sentinel;
mod world;

pub use case::{BRIEF, Case, TestStore, run};
pub use cluster::cluster;
pub use memory::{memory, toy};
pub use postgres::{postgres, postgres_by_asking};
pub use quorum::{quorum, quorum_url};
pub use redis::{
    redis, redis_by_a_dialer, redis_over_tls, redis_under_the_rule, redis_without_handoff,
};
pub use sentinel::sentinel;
pub use world::run_in_world;

use case::{config, key, suspend};

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
        $crate::conformance!(@store memory $($module: $($test)+;)+);
        $crate::conformance!(@store toy $($module: $($test)+;)+);
        $crate::conformance!(@store postgres $($module: $($test)+;)+);
        $crate::conformance!(@store redis $($module: $($test)+;)+);
        $crate::conformance!(@store sentinel $($module: $($test)+;)+);
        $crate::conformance!(@store cluster $($module: $($test)+;)+);
        $crate::conformance!(@store redis_over_tls $($module: $($test)+;)+);
        $crate::conformance!(@store redis_by_a_dialer $($module: $($test)+;)+);
        $crate::conformance!(@store redis_under_the_rule $($module: $($test)+;)+);
        $crate::conformance!(@store redis_without_handoff $($module: $($test)+;)+);
        mod quorum {
            $(mod $module {
                $($crate::conformance!(@quorum $module $test $($what)?);)+
            })+
        }
        mod world {
            $(mod $module {
                $($crate::conformance!(@world $module $test $($what)?);)+
            })+
        }
    };
    (@store $store:ident $($module:ident: $($test:ident)+;)+) => {
        mod $store {
            $(mod $module {
                $($crate::conformance!(@test $module $test run($crate::stores::$store));)+
            })+
        }
    };
    (@quorum $module:ident $test:ident order) => {
        $crate::conformance!(@test $module $test run($crate::stores::quorum)
            #[ignore = "a quorum has no queue: nobody is served first because he came first"]);
    };
    (@quorum $module:ident $test:ident signals) => {
        $crate::conformance!(@test $module $test run($crate::stores::quorum)
            #[ignore = "the servers of a quorum cannot hand out the tokens of a semaphore once each"]);
    };
    (@quorum $module:ident $test:ident $(threads)?) => {
        $crate::conformance!(@test $module $test run($crate::stores::quorum));
    };
    (@world $module:ident $test:ident threads) => {
        $crate::conformance!(@test $module $test run_in_world()
            #[ignore = "it is about runtimes and threads, and a World has one thread"]);
    };
    (@world $module:ident $test:ident $($what:ident)?) => {
        $crate::conformance!(@test $module $test run_in_world());
    };
    (@test $module:ident $test:ident $run:ident($($store:path)?) $(#[$ignored:meta])?) => {
        $(#[$ignored])?
        #[test]
        fn $test() {
            $crate::stores::$run($($store,)? super::super::cases::$module::$test);
        }
    };
}
