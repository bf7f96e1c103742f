//! Input from servers, for the fuzzers: see `crate::fuzzing`.

pub(crate) use super::cluster::fuzzing::{errors, slots};
pub(crate) use super::redis::fuzzing::{messages, replies, resp, sentinels};
