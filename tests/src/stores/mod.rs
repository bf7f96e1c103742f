//! One suite for every store: tests take a [`TestStore`], and [`conformance!`](crate::conformance) runs them on each
//! store.

mod case;
mod cluster;
mod memory;
mod pool;
mod quorum;
mod redis;
mod sentinel;
mod toy;

pub use case::{BRIEF, Case, TestStore, run};
pub use cluster::OnCluster;
pub use memory::Memory;
pub use quorum::{OnQuorum, quorum_url};
pub use redis::{ByDialer, OnRedis, OverTls, UnderTheRule, WithoutHandoff};
pub use sentinel::OnSentinel;
pub use toy::Toy;

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
