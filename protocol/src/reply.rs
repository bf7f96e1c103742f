//! [`Reply`]: a store's answer to an operation, with the state of a name, and its text as the servers of engines write
//! it.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::str::FromStr;
use core::time::Duration;

use super::{MemberId, SharedStr, TOKENS_OF_A_GRANT, Ticket};

/// A store's answer to an [`Op`](super::Op).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// The ticket holds for the `hold` of its request. `token` is the fencing time in microseconds.
    Granted {
        /// The fencing token of the grant.
        token: u64,
        /// The signal that was granted instead of a unit.
        signal: Option<Arc<str>>,
    },
    /// The ticket waits at `position` (from 1), and must touch again within `again`.
    Queued {
        /// The place in the queue.
        position: u64,
        /// The latest time to ask again.
        again: Duration,
        /// The holder.
        holder: Option<HolderRecord>,
    },
    /// Only for `Mode::Try`: not granted, because the name is in use.
    Busy {
        /// The holder.
        holder: Option<HolderRecord>,
    },
    /// For `Mode::Try`, and in place of `Mismatch`: not granted yet. A client keeps the lock without using it, and was
    /// asked to release it.
    Kept {
        /// The client that keeps the lock.
        holder: HolderRecord,
    },
    /// A tombstone refuses the ticket: it was released or cancelled.
    Refused,
    /// The request exceeds the capacity.
    TooMany,
    /// The name is in use with another capacity.
    Mismatch {
        /// The name's capacity.
        capacity: u32,
        /// Whether the tickets of the name accept signals.
        takes: bool,
    },
    /// The store does not know the ticket. For `Op::Raise`: the ticket does not hold.
    Gone,
    /// The release ended a hold. `free` counts the units and signals now available.
    Released {
        /// The units that are free.
        free: u64,
    },
    /// The release ended a wait.
    Cancelled,
    /// A number: of holders removed (force, kick), of members that received a probe, of signals
    /// added, or of names deleted.
    Count(u64),
    /// The name was not deleted, because it is in use.
    InUse {
        /// The number of holders.
        holders: u64,
        /// The number of waiters.
        waiters: u64,
    },
    /// The state of the name.
    Info(NameRecord),
}

impl Reply {
    /// The number in a `Count` reply, and 0 for any other.
    #[inline]
    pub fn count(&self) -> u64 {
        match *self {
            Self::Count(count) => count,
            _ => 0,
        }
    }

    /// The record in an `Info` reply, and an empty one for any other.
    #[inline]
    pub fn into_record(self) -> NameRecord {
        match self {
            Self::Info(record) => record,
            _ => NameRecord::default(),
        }
    }

    /// Parses a reply. `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        Some(match (word, rest) {
            ("GRANTED", _) => {
                let (token, signal) = rest.split_once(' ').unzip();
                Self::Granted {
                    token: token.unwrap_or(rest).parse().ok()?,
                    signal: signal.map(Into::into),
                }
            }
            ("QUEUED", _) => {
                let mut words = rest.splitn(3, ' ');
                Self::Queued {
                    position: words.next()?.parse().ok()?,
                    again: millis(words.next()?)?,
                    holder: holder(words.next().unwrap_or_default())?,
                }
            }
            ("BUSY", _) => Self::Busy {
                holder: holder(rest)?,
            },
            ("KEPT", _) => Self::Kept {
                holder: holder(rest)??,
            },
            ("MISMATCH", _) => {
                let (capacity, takes) = numbers::<_, u8>(rest)?;
                let takes = takes == 1;
                Self::Mismatch { capacity, takes }
            }
            ("IN_USE", _) => {
                let (holders, waiters) = numbers(rest)?;
                Self::InUse { holders, waiters }
            }
            ("RELEASED", _) => Self::Released {
                free: rest.parse().ok()?,
            },
            ("COUNT" | "FREED" | "TOLD" | "SIGNALLED" | "DELETED", _) => {
                Self::Count(rest.parse().ok()?)
            }
            ("REFUSED", "") => Self::Refused,
            ("TOO_MANY", "") => Self::TooMany,
            ("GONE", "") => Self::Gone,
            ("CANCELLED", "") => Self::Cancelled,
            _ => return None,
        })
    }
}

/// Parses a token and the meta after it, if there is a holder.
fn holder(text: &str) -> Option<Option<HolderRecord>> {
    if text.is_empty() {
        return Some(None);
    }
    let (token, meta) = text.split_once(' ')?;
    Some(Some(HolderRecord {
        token: token.parse().ok()?,
        meta: meta.to_owned().into(),
    }))
}

fn numbers<A: FromStr, B: FromStr>(text: &str) -> Option<(A, B)> {
    let (first, second) = text.split_once(' ')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

pub(super) fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

/// A ticket that holds a name, as the store remembers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HolderRecord {
    /// The fencing token.
    pub token: u64,
    /// The holder's description: see `docs/protocol.md`.
    pub meta: SharedStr,
}

/// A ticket in the reply to `Op::Inspect`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TicketRecord {
    /// The ticket.
    pub ticket: Ticket,
    /// Its member.
    pub member: MemberId,
    /// The units that it holds or asks for.
    pub units: u32,
    /// Whether the ticket accepts a signal instead of units.
    pub takes: bool,
    /// When the hold or wait began, in microseconds.
    pub since: u64,
    /// Zero for a waiter.
    pub token: u64,
    /// The requester's description: see `docs/protocol.md`.
    pub meta: SharedStr,
    /// How long the holder's lease or the waiter's place still lasts.
    pub left: Duration,
    /// Whether it was released, and only keeps the lock for a while (`at_least`).
    pub parked: bool,
    /// Whether the store passed over this waiter because it was silent.
    pub passed_over: bool,
    /// Whether the client keeps the lock without using it.
    pub kept: bool,
}

/// The mark before the number of calls, in the description of a waiter.
const CALLS: &str = " calls:";

/// The description `meta` of a waiter that stands for `calls` calls.
pub(crate) fn calling(meta: &SharedStr, calls: usize) -> SharedStr {
    match calls {
        0 | 1 => meta.clone(),
        _ => format!("{}{CALLS}{calls}", &**meta).into(),
    }
}

impl TicketRecord {
    /// How many calls of its client wait with this ticket, when it last asked.
    pub fn calls(&self) -> u32 {
        let number = self.meta.rsplit_once(CALLS).map(|(_, after)| after);
        let number = number.and_then(|after| after.split(' ').next()?.parse().ok());
        number.filter(|_| self.token == 0).unwrap_or(1)
    }
}

/// The state of a name in the reply to `Op::Inspect`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct NameRecord {
    /// The last fencing token, in microseconds; zero if forgotten.
    pub token: u64,
    /// `None` if there are neither holders nor waiters.
    pub capacity: Option<u32>,
    /// Units in use.
    pub used: u64,
    /// Signals that are available.
    pub signals: u64,
    /// Whether the name was used and has not been deleted since.
    pub exists: bool,
    /// The last kick, unless it was long ago.
    pub kick: Option<Box<KickRecord>>,
    /// The holders, in order of token.
    pub holders: Vec<TicketRecord>,
    /// The waiters, in order of place.
    pub waiters: Vec<TicketRecord>,
}

/// The last hold of a name that a kick ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KickRecord {
    /// When the kick happened, in microseconds.
    pub at: u64,
    /// The token of the hold.
    pub token: u64,
    /// Who kicked: see `docs/protocol.md`.
    pub by: SharedStr,
}

impl NameRecord {
    /// The last fencing token, as callers see it; `None` if forgotten.
    pub fn last_token(&self) -> Option<u64> {
        (self.token > 0).then(|| self.token.saturating_mul(TOKENS_OF_A_GRANT))
    }

    /// Whether the first ticket of the name accepts a signal instead of a unit. Together with the capacity, this tells
    /// the kind of lock.
    pub fn takes(&self) -> bool {
        let mut tickets = self.holders.iter().chain(&self.waiters);
        tickets.next().is_some_and(|ticket| ticket.takes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_understood() {
        let granted = |token, signal: Option<&str>| Reply::Granted {
            token,
            signal: signal.map(Into::into),
        };
        let holder = || HolderRecord {
            token: 7,
            meta: "host 1 site".into(),
        };
        let queued = |position, holder| Reply::Queued {
            position,
            again: Duration::from_millis(1100),
            holder,
        };
        for (text, reply) in [
            ("GRANTED 17", granted(17, None)),
            ("GRANTED 17 a text", granted(17, Some("a text"))),
            ("QUEUED 2 1100", queued(2, None)),
            ("QUEUED 2 1100 7 host 1 site", queued(2, Some(holder()))),
            ("BUSY", Reply::Busy { holder: None }),
            ("KEPT 7 host 1 site", Reply::Kept { holder: holder() }),
            ("RELEASED 3", Reply::Released { free: 3 }),
            ("COUNT 2", Reply::Count(2)),
            ("FREED 2", Reply::Count(2)),
            ("GONE", Reply::Gone),
        ] {
            assert_eq!(Reply::parse(text), Some(reply), "{text}");
        }
        let other = [
            "",
            "GRANTED",
            "GRANTED -1",
            "GRANTED x a",
            "RELEASED",
            "QUEUED -1 9",
            "QUEUED 1",
            "BUSY x",
            "BUSY x y",
            "KEPT",
            "COUNT x",
            "GONE 1",
            "NO",
        ];
        for garbage in other {
            assert_eq!(Reply::parse(garbage), None, "{garbage}");
        }
    }
}
