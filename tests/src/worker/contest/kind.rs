//! The kinds of contests.

use std::str::FromStr;

use auto_mutex::{Client, LockError};

use crate::seed::Seed;
use crate::witness::Part;
use crate::worker::guards::Held;

/// The units of a readers-writer lock, for the witness: more than there are readers at any time.
const READERS: u32 = 1 << 20;

/// A contest: `mutex`, `lead`, `kept:NAMES`, `crossed:NAMES`, `long:SECONDS`, `semaphore:PERMITS`, `rw`, `multi:NAMES`
/// or `handoff:BOUND`.
#[derive(Clone, Copy, Debug)]
pub(in crate::worker) enum Kind {
    Mutex,
    /// The lead, for which all tasks stand.
    Lead,
    /// `names` mutexes: a task or two take each of them again and again, and others visit it. After a while, all
    /// continue with other names, because clients stop keeping a name that is often recalled.
    Kept {
        names: u64,
    },
    /// Two of `names` mutexes in any order, the second while the first is held, so that tasks deadlock.
    Crossed {
        names: u64,
    },
    /// A mutex that is held for up to `seconds` seconds.
    Long {
        seconds: u64,
    },
    /// Mostly one permit, sometimes several.
    Semaphore {
        permits: u32,
    },
    /// Mostly readers, sometimes a writer.
    RwLock,
    /// Two of `names` names at once, in any order.
    Multi {
        names: u64,
    },
    /// A mutex and two condition variables around a belt of bounded length.
    Handoff {
        bound: u32,
    },
}

impl FromStr for Kind {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, number) = text.split_once(':').unwrap_or((text, "0"));
        Ok(match kind {
            "mutex" => Self::Mutex,
            "lead" => Self::Lead,
            "kept" => Self::Kept {
                names: number.parse()?,
            },
            "crossed" => Self::Crossed {
                names: number.parse()?,
            },
            "long" => Self::Long {
                seconds: number.parse()?,
            },
            "semaphore" => Self::Semaphore {
                permits: number.parse()?,
            },
            "rw" => Self::RwLock,
            "multi" => Self::Multi {
                names: number.parse()?,
            },
            "handoff" => Self::Handoff {
                bound: number.parse()?,
            },
            _ => panic!("no such contest: {text:?}"),
        })
    }
}

impl Kind {
    /// Makes one random request. Returns `None` if it does not wait and the lock is not free.
    pub(super) async fn take(
        self,
        client: &Client,
        name: &str,
        seed: &mut Seed,
    ) -> Result<Option<Held>, LockError> {
        // In a `Long` contest every request waits, because one that does not would rightly fail while the store is
        // down.
        let waits = seed.below(16) > 0 || matches!(self, Self::Long { .. });
        Ok(match self {
            Self::Long { .. } => Some(Held::Mutex(client.mutex(name).lock().await?)),
            Self::Mutex
            | Self::Lead
            | Self::Kept { .. }
            | Self::Crossed { .. }
            | Self::Handoff { .. } => {
                let mutex = client.mutex(name);
                match waits {
                    true => Some(Held::Mutex(mutex.lock().await?)),
                    false => mutex.try_lock().await?.map(Held::Mutex),
                }
            }
            Self::Semaphore { permits } => {
                let semaphore = client.semaphore(name, permits);
                let units = match seed.below(4) {
                    0 => 1 + seed.below(permits.into()) as u32,
                    _ => 1,
                };
                match waits {
                    true => Some(Held::Permit(semaphore.acquire_many(units).await?)),
                    false => semaphore.try_acquire_many(units).await?.map(Held::Permit),
                }
            }
            Self::RwLock => {
                let lock = client.rw_lock(name);
                match (seed.below(4), waits) {
                    (0, true) => Some(Held::Write(lock.write().await?)),
                    (0, false) => lock.try_write().await?.map(Held::Write),
                    (_, true) => Some(Held::Read(lock.read().await?)),
                    (_, false) => lock.try_read().await?.map(Held::Read),
                }
            }
            Self::Multi { names } => {
                let first = seed.below(names);
                let second = (first + 1 + seed.below(names - 1)) % names;
                let pair = [first, second].map(|number| format!("{name}{number}"));
                let lock = client.multi(pair);
                match waits {
                    true => Some(Held::Multi(lock.lock().await?)),
                    false => lock.try_lock().await?.map(Held::Multi),
                }
            }
        })
    }

    /// The report of this hold for the witness.
    pub(super) fn parts(self, held: &Held) -> Vec<Part> {
        match held {
            Held::Mutex(guard) => vec![Part::all(guard.name(), guard.fencing_token())],
            Held::Permit(permit) => {
                let Self::Semaphore { permits } = self else {
                    panic!("a permit of {self:?}");
                };
                let (token, units) = (permit.fencing_token(), permit.units());
                vec![Part::some(permit.name(), token, units, permits)]
            }
            Held::Read(guard) => {
                vec![Part::some(guard.name(), guard.fencing_token(), 1, READERS)]
            }
            Held::Write(guard) => {
                let token = guard.fencing_token();
                vec![Part::some(guard.name(), token, READERS, READERS)]
            }
            Held::Multi(guard) => {
                let token = |name: &str| guard.fencing_token_of(name).expect("one of its names");
                let part = |name| Part::all(name, token(name));
                guard.names().map(part).collect()
            }
        }
    }
}
