//! [`LossCause`]: why a lock is no longer held.

use core::fmt;

/// Why a lock is no longer held: the `cause` of `LockError::Lost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LossCause {
    /// The lease was not renewed in time, because the store did not answer or this process could not run. Another
    /// client may hold the lock now.
    NotRenewed,
    /// `expire` is over. A nested call has its own `expire`, after which the outer call still holds the lock.
    Expired,
    /// A program took the lock away with `force_unlock`.
    Forced,
    /// The store no longer knows this hold: the lock's data was deleted or overwritten, or the store was restarted
    /// without it. Also if `force_unlock` took the lock away while this client had no connection, or a ticket was
    /// adopted too late or a second time.
    Forgotten,
    /// This program ended the hold itself: it released the lock through its handle, or turned the guard into a ticket.
    /// Also if this handle never held the lock.
    Released,
    /// The client was shut down.
    ShutDown,
    /// This process is a fork: the lock stays with the process that took it.
    Forked,
    /// The leader reported no `progress` for too long.
    Stalled,
}

impl LossCause {
    #[doc(hidden)]
    pub const ALL: [Self; 8] = [
        Self::NotRenewed,
        Self::Expired,
        Self::Forced,
        Self::Forgotten,
        Self::Released,
        Self::ShutDown,
        Self::Forked,
        Self::Stalled,
    ];

    /// A number for an atomic: see [`from_number`](Self::from_number).
    #[doc(hidden)]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The label in metrics, and the text for people.
    fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::NotRenewed => ("not_renewed", "its lease was not renewed in time"),
            Self::Expired => ("expired", "its `expire` ended"),
            Self::Forced => ("forced", "it was broken with `force_unlock`"),
            Self::Forgotten => ("forgotten", "the store no longer knows this hold"),
            Self::Released => ("released", "this program released it"),
            Self::ShutDown => ("shut_down", "the client was shut down"),
            Self::Forked => ("forked", "this process is a fork of the holder"),
            Self::Stalled => ("stalled", "its leader made no progress for too long"),
        }
    }

    #[doc(hidden)]
    pub fn word(self) -> &'static str {
        self.texts().0
    }

    #[doc(hidden)]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.texts().1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_has_its_number() {
        for (number, cause) in (0..).zip(LossCause::ALL) {
            assert_eq!(cause.number(), number);
            assert_eq!(LossCause::from_number(number), Some(cause));
        }
        assert_eq!(LossCause::from_number(8), None);
    }
}
