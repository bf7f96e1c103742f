//! Parses what a sentinel answers.

use super::{Primary, View};
use crate::wire::Value;

pub(crate) fn read(reply: &Value<'_>) {
    if let Some(primary) = Primary::read(reply) {
        let _ = (primary.address.to_string(), primary.replaces(&primary));
        let _ = View::new(primary, reply);
    }
}
