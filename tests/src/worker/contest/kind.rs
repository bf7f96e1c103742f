//! What a contest is about.

use std::str::FromStr;

use auto_mutex::{Client, LockError};

use super::STARVED;
use crate::seed::Seed;
use crate::witness::Part;
use crate::worker::guards::Held;

/// The units of a readers-writer lock, for the witness: more than there are ever readers.
const READERS: u32 = 1 << 20;

/// `mutex`, `crossed:NAMES`, `long:SECONDS`, `semaphore:PERMITS`, `rw`, `multi:NAMES`, `hand-over:BOUND`, `partners:PAIRS`.
#[derive(Clone, Copy, Debug)]
pub(in crate::worker) enum Kind {
    Mutex,
    /// Two of so many mutexes, in any order, one inside the other: they wait for each other.
    Crossed {
        names: u64,
    },
    /// A mutex that is held for up to so many seconds.
    Long {
        seconds: u64,
    },
    /// One permit mostly, sometimes several.
    Semaphore {
        permits: u32,
    },
    /// Readers mostly, sometimes a writer.
    RwLock,
    /// Two of so many names, in any order.
    Multi {
        names: u64,
    },
    /// A mutex and two condition variables around a belt of bounded length.
    HandOver {
        bound: u32,
    },
    /// So many belts for one item, with one at each end.
    Partners {
        pairs: u64,
    },
}

impl FromStr for Kind {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, number) = text.split_once(':').unwrap_or((text, "0"));
        Ok(match kind {
            "mutex" => Self::Mutex,
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
            "hand-over" => Self::HandOver {
                bound: number.parse()?,
            },
            "partners" => Self::Partners {
                pairs: number.parse()?,
            },
            _ => panic!("no such contest: {text:?}"),
        })
    }
}

impl Kind {
    /// One request, as the dice fall; `None` if it did not wait and somebody else was first.
    pub(super) async fn take(
        self,
        client: &Client,
        name: &str,
        seed: &mut Seed,
    ) -> Result<Option<Held>, LockError> {
        // Who does not want to wait gets no answer of a store that is not there, which is as it should be.
        let waits = seed.below(16) > 0 || matches!(self, Self::Long { .. });
        Ok(match self {
            Self::Long { .. } => Some(Held::Mutex(client.mutex(name).lock().await?)),
            Self::Mutex | Self::Crossed { .. } | Self::HandOver { .. } | Self::Partners { .. } => {
                let mutex = client.mutex(name).block(STARVED);
                match waits {
                    true => Some(Held::Mutex(mutex.lock().await?)),
                    false => mutex.try_lock().await?.map(Held::Mutex),
                }
            }
            Self::Semaphore { permits } => {
                let semaphore = client.semaphore(name, permits).block(STARVED);
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
                let lock = client.rw_lock(name).block(STARVED);
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
                let lock = client.multi(pair).block(STARVED);
                match waits {
                    true => Some(Held::Multi(lock.lock().await?)),
                    false => lock.try_lock().await?.map(Held::Multi),
                }
            }
        })
    }

    /// What the witness is told of it.
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
