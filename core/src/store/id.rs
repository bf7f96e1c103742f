//! [`Ticket`] and [`MemberId`]: random UUIDs (version 4), never reused.
//!
//! The ids need not be unguessable, because every client of the store can read them all. Each thread therefore draws
//! them from a fast generator with a seed from the system. One system call per id would take longer than the rest of an
//! uncontended call.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use uuid::{Builder, Uuid};

use crate::base::name::KeyHasher;
use crate::base::process::forks;
use crate::base::sync::chosen_bytes;

/// One request for a lock, never reused. It identifies first a waiter, then a holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(Uuid);

/// One client in one process, as the store knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(Uuid);

macro_rules! id {
    ($id:ident) => {
        impl $id {
            /// A new random id.
            pub fn random() -> Self {
                Self(random())
            }

            /// Parses the `Display` output.
            pub fn parse(text: &str) -> Option<Self> {
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

/// A map by ticket.
pub type TicketMap<V> = HashMap<Ticket, V, BuildHasherDefault<KeyHasher>>;

/// The generator xoshiro256++, with a period of 2^256 − 1.
#[derive(Clone, Copy)]
struct Generator {
    state: [u64; 4],
    /// The number of forks before the seed was drawn. A child process must not draw its parent's numbers.
    forks: u32,
}

thread_local! {
    static GENERATOR: Cell<Option<Generator>> = const { Cell::new(None) };
}

/// A random number for jitter and choices. Not for secrets.
pub fn random_number() -> u32 {
    random().as_u128() as u32
}

fn random() -> Uuid {
    if let Some(bytes) = chosen_bytes() {
        return Builder::from_random_bytes(bytes).into_uuid();
    }
    // `uuid` draws the number if there is no generator: the thread is ending, or the system gave no randomness for the
    // seed.
    let drawn = GENERATOR.try_with(|cell| {
        let known = cell.get().filter(|known| known.forks == forks());
        let mut generator = known.or_else(Generator::seeded)?;
        let uuid = Builder::from_random_bytes(generator.bytes()).into_uuid();
        cell.set(Some(generator));
        Some(uuid)
    });
    drawn.ok().flatten().unwrap_or_else(Uuid::new_v4)
}

/// Lets this thread draw unpredictable numbers again.
#[cfg(any(test, feature = "test-util"))]
pub(crate) fn unseed() {
    let _ = GENERATOR.try_with(|cell| cell.set(None));
}

/// Makes this thread draw the numbers that follow from `seed`.
#[cfg(any(test, feature = "test-util"))]
pub fn seed(seed: u64) {
    let (state, forks) = ([seed, 1, 2, 3], forks());
    GENERATOR.set(Some(Generator { state, forks }));
}

impl Generator {
    fn seeded() -> Option<Self> {
        let mut state = [0; 4];
        for word in &mut state {
            *word = getrandom::u64().ok()?;
        }
        let forks = forks();
        Some(Self { state, forks })
    }

    fn bytes(&mut self) -> [u8; 16] {
        let high = u128::from(self.next());
        (high << 64 | u128::from(self.next())).to_ne_bytes()
    }

    fn next(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let number = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        number
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

    /// Compares with the first numbers that the generator's authors publish for this seed.
    #[test]
    fn the_generator_is_the_one_that_it_says() {
        let (state, forks) = ([1, 2, 3, 4], 0);
        let mut generator = Generator { state, forks };
        let numbers = [(); 4].map(|()| generator.next());
        let known = [41943041, 58720359, 3588806011781223, 3591011842654386];
        assert_eq!(numbers, known);
    }

    #[test]
    fn a_child_draws_other_numbers_than_its_parent() {
        Ticket::random();
        let stale = GENERATOR.get().map(|known| Generator {
            forks: known.forks.wrapping_sub(1),
            ..known
        });
        let next = |generator: Option<Generator>| {
            GENERATOR.set(generator);
            Ticket::random()
        };
        let known = GENERATOR.get();
        assert_eq!(next(known), next(known));
        assert_ne!(next(stale), next(stale));
    }
}
