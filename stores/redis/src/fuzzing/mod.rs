//! The fuzz targets of this crate: each passes bytes to a parser of external input. `fuzz/` calls them with generated
//! bytes, and every test run calls them with those in `fuzz/corpus`.
//!
//! No target may panic, hang, or use more memory than its input justifies. Each also asserts specific properties.

mod server;
mod urls;

#[cfg(test)]
pub(crate) use self::server::guard;
pub(crate) use self::server::{each, each_error};
#[cfg(feature = "cluster")]
pub use self::server::{errors, slots};
pub use self::server::{messages, replies, sentinels};
pub use self::urls::urls;
pub use crate::wire::fuzzing::resp;

#[cfg(repository)]
#[cfg(test)]
#[test]
fn what_the_fuzzers_found_worth_keeping_does_no_harm() {
    use auto_mutex_seam::testing::replay;

    replay("urls", urls);
    replay("resp", resp);
    replay("messages", messages);
    replay("replies", replies);
    replay("sentinels", sentinels);
    #[cfg(feature = "cluster")]
    {
        replay("errors", errors);
        replay("slots", slots);
    }
}
