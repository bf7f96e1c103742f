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
mod toy;
mod world;

pub use case::{Case, Heard, TestStore, run};
pub use cluster::cluster;
pub use memory::memory;
pub use postgres::{postgres, postgres_by_asking};
pub use quorum::{quorum, quorum_url};
pub use redis::{redis, redis_over_tls, redis_under_the_rule};
pub use sentinel::sentinel;
pub use toy::toy;
pub use world::run_in_world;

use case::{config, key, suspend};

/// Makes a `#[test]` of each listed function on each engine: `conformance! { module: a_test, #[needs(order)] another; …
/// }`, or on some of them: `conformance! { on redis, world; module: … }`. The functions are `async fn(&dyn TestStore)`
/// in modules of the crate. If a store lacks what a test needs, the test is ignored there, with the reason.
/// `#[needs(time)]` marks a test that waits for the [real clock](crate::real_time).
///
/// Each function is compiled once, as a [`Case`], and not once for each store.
#[macro_export]
macro_rules! conformance {
    (on $($store:ident),+; $($module:ident: $($(#[needs($($what:ident),+)])? $test:ident),+ $(,)?;)+) => {
        mod cases {
            $(pub(super) mod $module {
                use $crate::stores::TestStore;
                type Running<'a> = std::pin::Pin<Box<dyn Future<Output = ()> + 'a>>;
                $(pub(crate) fn $test(store: &dyn TestStore) -> Running<'_> {
                    Box::pin(super::super::$module::$test(store))
                })+
            })+
        }
        $crate::conformance!(@each [$($store)+] { $($module { $($test [$($($what)+)?])+ })+ });
    };
    (@each [] $modules:tt) => {};
    (@each [$store:ident $($others:ident)*] $modules:tt) => {
        $crate::conformance!(@store $store $modules);
        $crate::conformance!(@each [$($others)*] $modules);
    };
    (@store $store:ident { $($module:ident { $($test:ident $what:tt)+ })+ }) => {
        mod $store {
            $(mod $module {
                $($crate::conformance!(@$store $what $module $test);)+
            })+
        }
    };
    (@quorum [order] $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test run($crate::stores::quorum)
            #[ignore = "a quorum has no queue: nobody is served first because he came first"]);
    };
    (@quorum [signals $($time:ident)?] $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test run($crate::stores::quorum)
            #[ignore = "the servers of a quorum cannot hand out the tokens of a semaphore once each"]);
    };
    (@memory [$(signals)? time] $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test run($crate::stores::memory)
            #[ignore = "a World has the same store, in virtual time"]);
    };
    (@world [threads] $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test run_in_world()
            #[ignore = "it is about runtimes and threads, and a World has one thread"]);
    };
    (@world $what:tt $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test run_in_world());
    };
    (@test $module:ident $test:ident $run:ident($($store:path)?) $(#[$ignored:meta])?) => {
        $(#[$ignored])?
        #[test]
        fn $test() {
            $crate::stores::$run($($store,)? super::super::cases::$module::$test);
        }
    };
    (@$store:ident [signals time] $module:ident $test:ident) => {
        $crate::conformance!(@$store [time] $module $test);
    };
    (@$store:ident [time] $module:ident $test:ident) => {
        #[test]
        fn $test() {
            let _watch = $crate::real_time::real_time();
            $crate::stores::run($crate::stores::$store, super::super::cases::$module::$test);
        }
    };
    (@$store:ident $what:tt $module:ident $test:ident) => {
        $crate::conformance!(@test $module $test run($crate::stores::$store));
    };
    ($($modules:tt)+) => {
        $crate::conformance!(on memory, postgres, redis, cluster, quorum, world; $($modules)+);
    };
}

/// Runs some of the cases of [`conformance!`](crate::conformance) on layouts of an engine, at most 60 on each:
/// `layouts! { /// what it can break sentinel: module { a_test, another } … }`.
#[macro_export]
macro_rules! layouts {
    ($($(#[doc = $why:literal])+ $layout:ident: $($module:ident { $($test:ident),+ $(,)? })+)+) => {
        $($(#[doc = $why])+
        mod $layout {
            $(mod $module {
                $(#[test]
                fn $test() {
                    $crate::stores::run($crate::stores::$layout, super::super::cases::$module::$test);
                })+
            })+
        })+

        #[test]
        fn a_layout_runs_at_most_sixty_cases() {
            $(let cases = [$($(stringify!($test)),+),+].len();
            assert!(cases <= 60, "{}: {cases}", stringify!($layout));)+
        }
    };
}
