//! What the spans of calls and bodies share.

use std::fmt;

use tracing::level_filters::LevelFilter;

use crate::store::Meta;

/// Whether any subscriber may want our spans. If not, a call needs no further check.
#[inline]
pub(crate) fn spans_are_on() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// Shows the caller that `meta` identifies: place in the code, process and machine. The text is made only if it is needed.
pub(crate) struct CallerPlace<'a>(pub(crate) &'a str);

impl fmt::Display for CallerPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Meta::caller(self.0) {
            Some(caller) => caller.fmt(f),
            None => Ok(()),
        }
    }
}
