//! The stores that need no Unix.

#[path = "../../../src/stores/case.rs"]
mod case;
#[path = "../../../src/stores/memory.rs"]
mod memory;
mod redis;

pub use case::{BRIEF, Case, TestStore, run};
pub use memory::Memory;
pub use redis::OnRedis;

/// Makes a `#[test]` of each listed function on each of these stores.
#[macro_export]
macro_rules! conformance {
    ($($module:ident: $($(#[needs($what:ident)])? $test:ident),+ $(,)?;)+) => {
        $crate::conformance!(@store memory Memory $($module: $($test)+;)+);
        $crate::conformance!(@store redis OnRedis $($module: $($test)+;)+);
    };
    (@store $store:ident $kind:ident $($module:ident: $($test:ident)+;)+) => {
        mod $store {
            $(mod $module {
                $(#[test]
                fn $test() {
                    let case: $crate::stores::Case = |store| Box::pin(crate::$module::$test(store));
                    $crate::stores::run($crate::stores::$kind::new, case);
                })+
            })+
        }
    };
}
