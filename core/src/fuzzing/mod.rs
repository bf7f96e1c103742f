//! The fuzz targets of this crate. `auto-mutex-redis` has more, which work alike.

mod names;
mod states;

pub use names::names;
pub use states::states;

#[cfg(repository)]
#[cfg(test)]
#[test]
fn what_the_fuzzers_found_worth_keeping_does_no_harm() {
    auto_mutex_seam::testing::replay("names", names);
    auto_mutex_seam::testing::replay("states", states);
}
