//! [`Dice`]: random choices for tests. The same seed gives the same choices on every machine.

#![allow(missing_docs)]

use alloc::format;
use alloc::string::String;
use core::time::Duration;

use crate::{MemberId, Ticket};

/// The random number generator SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number from `from` to `to`, inclusive.
    pub fn between(&mut self, from: u8, to: u8) -> u8 {
        from + self.below(u64::from(to - from) + 1) as u8
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    pub fn roll(&mut self, sides: usize) -> usize {
        self.below(sides as u64) as usize
    }

    pub fn millis(&mut self, choices: &[u64]) -> Duration {
        Duration::from_millis(self.of(choices))
    }

    pub fn bytes(&mut self) -> [u8; 16] {
        let number = u128::from(self.next()) << 64 | u128::from(self.next());
        number.to_be_bytes()
    }

    fn id(&mut self) -> String {
        format!("{:016x}{:016x}", self.next(), self.next())
    }

    pub fn ticket(&mut self) -> Ticket {
        Ticket::parse(&self.id()).expect("an id")
    }

    pub fn member(&mut self) -> MemberId {
        MemberId::parse(&self.id()).expect("an id")
    }
}
