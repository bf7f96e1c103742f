//! [`Seat`]: an acquire that waits for nobody, by reference.

use std::time::Duration;

use super::{Share, Text, Ticket};

/// What an [`Op::Acquire`](super::Op::Acquire) of a fresh ticket says, borrowed.
#[derive(Debug)]
pub(crate) struct Seat<'a> {
    pub(crate) ticket: Ticket,
    pub(crate) counter: u64,
    pub(crate) share: &'a Share,
    pub(crate) hold: Duration,
    pub(crate) place: Duration,
    /// Who asks.
    pub(crate) meta: &'a Text,
}

impl Seat<'_> {
    /// Whether it asks for some units of those that there are, for nobody in particular.
    pub(crate) fn is_plain(&self) -> bool {
        let share = self.share;
        share.fits() && !share.takes && share.owner.is_empty()
    }
}
