//! [`RandomId`]: new tickets and members. Also other random numbers.
//!
//! Half of a ticket is a secret, so the numbers come from the system. Each thread draws many at a time, because
//! one system call per id would take longer than the rest of an uncontended call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::time::Duration;

use auto_mutex_protocol::{MemberId, Ticket};

use crate::base::name::KeyHasher;
use crate::base::process::forks;
use crate::base::sync::chosen_bytes;

/// An id that is drawn at random.
pub trait RandomId {
    /// A new random id.
    fn random() -> Self;
}

impl RandomId for Ticket {
    #[inline]
    fn random() -> Self {
        Self::from_random(random_bytes())
    }
}

impl RandomId for MemberId {
    fn random() -> Self {
        Self::from_random(random_bytes())
    }
}

/// A map by ticket.
pub type TicketMap<V> = HashMap<Ticket, V, BuildHasherDefault<KeyHasher>>;

/// Random bytes for the next ids.
struct Drawn {
    bytes: [u8; 512],
    used: usize,
    /// The number of forks before they were drawn. A child process must not use its parent's.
    forks: u32,
}

thread_local! {
    static DRAWN: RefCell<Drawn> = const {
        RefCell::new(Drawn { bytes: [0; 512], used: 512, forks: 0 })
    };
}

/// A random number for jitter and choices.
pub fn random_number() -> u32 {
    u128::from_be_bytes(random_bytes()) as u32
}

/// A random duration between half of `whole` and `whole`.
pub fn jittered(whole: Duration) -> Duration {
    between(whole / 2, whole)
}

/// A random duration between these two.
pub fn between(from: Duration, to: Duration) -> Duration {
    auto_mutex_protocol::between(from, to, random_number())
}

/// Random bytes for one id or number.
pub fn random_bytes() -> [u8; 16] {
    #[cfg(any(test, feature = "test-util"))]
    if let Some(bytes) = seeded::bytes() {
        return bytes;
    }
    let drawn = || {
        DRAWN
            .try_with(|drawn| drawn.try_borrow_mut().ok()?.next())
            .ok()?
    };
    // Drawn for this id alone if the thread is ending.
    chosen_bytes().or_else(drawn).unwrap_or_else(|| {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("the system has random numbers");
        bytes
    })
}

impl Drawn {
    fn next(&mut self) -> Option<[u8; 16]> {
        if self.used == self.bytes.len() || self.forks != forks() {
            getrandom::fill(&mut self.bytes).ok()?;
            (self.used, self.forks) = (0, forks());
        }
        let next = self.bytes[self.used..].first_chunk_mut()?;
        self.used += next.len();
        Some(std::mem::take(next))
    }
}

#[cfg(any(test, feature = "test-util"))]
pub use self::seeded::{draw_by, seed, unseed};

/// Numbers that a test chooses.
#[cfg(any(test, feature = "test-util"))]
mod seeded {
    use std::cell::RefCell;

    /// The generator xoshiro256++, with a period of 2^256 − 1.
    type State = [u64; 4];

    type Draw = Box<dyn FnMut() -> [u8; 16]>;

    thread_local! {
        static DRAW: RefCell<Option<Draw>> = const { RefCell::new(None) };
    }

    /// Lets this thread draw unpredictable numbers again.
    pub fn unseed() {
        let _ = DRAW.try_with(|draw| draw.replace(None));
    }

    /// Makes this thread draw what `draw` returns.
    pub fn draw_by(draw: impl FnMut() -> [u8; 16] + 'static) {
        DRAW.set(Some(Box::new(draw)));
    }

    /// Makes this thread draw the numbers that follow from `seed`.
    pub fn seed(seed: u64) {
        let mut state = [seed, 1, 2, 3];
        draw_by(move || {
            let high = u128::from(next(&mut state));
            (high << 64 | u128::from(next(&mut state))).to_ne_bytes()
        });
    }

    pub(super) fn bytes() -> Option<[u8; 16]> {
        let draw = |draw: &RefCell<Option<Draw>>| draw.borrow_mut().as_mut().map(|draw| draw());
        DRAW.try_with(draw).ok()?
    }

    pub(super) fn next([a, b, c, d]: &mut State) -> u64 {
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
        let version = |ticket: &Ticket| ticket.to_string().as_bytes()[12];
        assert!(unique.iter().all(|ticket| version(ticket) == b'4'));
        let publics: HashSet<_> = unique.iter().map(|ticket| ticket.public()).collect();
        assert_eq!(publics.len(), 4000);
    }

    /// Compares with the first numbers that the generator's authors publish for this seed.
    #[test]
    fn the_generator_of_tests_is_the_one_that_it_says() {
        let mut state = [1, 2, 3, 4];
        let numbers = [(); 4].map(|()| seeded::next(&mut state));
        let known = [41943041, 58720359, 3588806011781223, 3591011842654386];
        assert_eq!(numbers, known);
    }

    #[test]
    fn a_child_uses_none_of_its_parents_numbers() {
        let drawn = || DRAWN.with_borrow(|drawn| (drawn.bytes, drawn.used));
        Ticket::random();
        let (before, used) = drawn();
        assert_eq!(
            before[..used],
            [0; 512][..used],
            "what was used is forgotten"
        );
        DRAWN.with_borrow_mut(|drawn| drawn.forks = drawn.forks.wrapping_sub(1));
        Ticket::random();
        let (after, used) = drawn();
        assert_eq!(used, 16);
        assert!(
            before[16..]
                .windows(16)
                .all(|part| part == [0; 16] || !after.windows(16).any(|other| other == part))
        );
    }
}
