//! The stores that need no Unix.

#[path = "../../../src/stores/case.rs"]
mod case;
#[path = "../../../src/stores/memory.rs"]
mod memory;
mod redis;

pub use case::{Case, Heard, TestStore, run};
pub use memory::memory;
pub use redis::redis;

use case::config;

/// Makes a `#[test]` of each listed function on each of these stores.
#[macro_export]
macro_rules! conformance {
    ($($module:ident: $($(#[needs($($what:ident),+)])? $test:ident),+ $(,)?;)+) => {
        $crate::conformance!(@store memory $($module: $($test)+;)+);
        $crate::conformance!(@store redis $($module: $($test)+;)+);
    };
    (@store $store:ident $($module:ident: $($test:ident)+;)+) => {
        mod $store {
            $(mod $module {
                $(#[test]
                fn $test() {
                    let case: $crate::stores::Case = |store| Box::pin(crate::$module::$test(store));
                    $crate::stores::run($crate::stores::$store, case);
                })+
            })+
        }
    };
}

/// The layouts need Unix.
#[macro_export]
macro_rules! layouts {
    ($($layouts:tt)+) => {};
}
