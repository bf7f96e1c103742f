//! The fuzz target of this crate. `auto-mutex-redis` has more, which work alike.

mod names;

pub use names::names;

#[cfg(repository)]
#[cfg(test)]
#[test]
fn what_the_fuzzers_found_worth_keeping_does_no_harm() {
    crate::testing::replay("names", names);
}
