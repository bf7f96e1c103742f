//! Who is who: [`Ticket`], [`MemberId`]. Random, version 4 UUIDs, unique for ever.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use uuid::{Builder, Uuid};

use crate::process::forks;
use crate::sync::chosen_bytes;

/// One request for a lock, unique for ever; identifies a waiter, then a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Ticket(Uuid);

/// One client in one process, as the store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MemberId(Uuid);

macro_rules! id {
    ($id:ident) => {
        impl $id {
            pub(crate) fn random() -> Self {
                Self(random())
            }

            pub(crate) fn parse(text: &str) -> Option<Self> {
                Uuid::try_parse(text).ok().map(Self)
            }
        }

        impl std::fmt::Display for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.simple().fmt(f)
            }
        }
    };
}

id!(Ticket);
id!(MemberId);

/// What is kept by ticket.
pub(crate) type TicketMap<V> = HashMap<Ticket, V, BuildHasherDefault<TicketHasher>>;

/// Tickets are random themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TicketHasher(u64);

impl Hasher for TicketHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = self.0.rotate_left(7) ^ u64::from_ne_bytes(word);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

const SIZE: usize = size_of::<Uuid>();
/// How many are drawn at once: asking the system takes longer than all the rest of an uncontended call.
const MANY: usize = 64;

/// Random bytes of the system that nobody has used yet.
struct Pool {
    bytes: [u8; SIZE * MANY],
    left: usize,
    /// A child must not use what its parent uses too.
    forks: u32,
}

thread_local! {
    static POOL: RefCell<Pool> = const {
        RefCell::new(Pool { bytes: [0; SIZE * MANY], left: 0, forks: 0 })
    };
}

fn random() -> Uuid {
    if let Some(bytes) = chosen_bytes() {
        return Builder::from_random_bytes(bytes).into_uuid();
    }
    let drawn = POOL.try_with(|pool| pool.try_borrow_mut().ok()?.draw());
    // A thread that is ending has no pool, a system without randomness no bytes.
    drawn.ok().flatten().unwrap_or_else(Uuid::new_v4)
}

impl Pool {
    fn draw(&mut self) -> Option<Uuid> {
        if self.left == 0 || self.forks != forks() {
            self.left = 0;
            getrandom::fill(&mut self.bytes).ok()?;
            (self.left, self.forks) = (MANY, forks());
        }
        self.left -= 1;
        let start = self.left * SIZE;
        let bytes = self.bytes[start..start + SIZE].try_into().ok()?;
        Some(Builder::from_random_bytes(bytes).into_uuid())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_random_and_never_the_same() {
        let draw = || (0..1000).map(|_| Ticket::random()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(draw)).collect();
        let all = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        let unique: HashSet<_> = all.collect();
        assert_eq!(unique.len(), 4000);
        assert!(unique.iter().all(|ticket| ticket.0.get_version_num() == 4));
    }
}
