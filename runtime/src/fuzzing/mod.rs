//! What strangers can say to this crate, each as a function of any bytes: `fuzz/` tries them with bytes that it makes up,
//! and every test run with those that are kept in `fuzz/corpus`.
//!
//! None may panic, hang, or take room that its input does not account for; what must hold beyond that is asserted by each.

mod names;
#[cfg(repository)]
#[cfg(test)]
mod replay;
mod urls;

pub use names::names;
pub use urls::urls;

/// Replies in pieces.
pub fn resp(bytes: &[u8]) {
    crate::store::fuzzing::resp(bytes);
}

/// What comes on the member's channel.
pub fn messages(bytes: &[u8]) {
    crate::store::fuzzing::messages(bytes);
}

/// What the scripts and the checks of a new connection get to read.
pub fn replies(bytes: &[u8]) {
    crate::store::fuzzing::replies(bytes);
}

/// Errors, redirections among them.
pub fn errors(bytes: &[u8]) {
    crate::store::fuzzing::errors(bytes);
}

/// What a cluster says of itself.
pub fn slots(bytes: &[u8]) {
    crate::store::fuzzing::slots(bytes);
}

/// What sentinels say.
pub fn sentinels(bytes: &[u8]) {
    crate::store::fuzzing::sentinels(bytes);
}
