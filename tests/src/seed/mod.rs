//! Repeatable random numbers: a small generator whose seed is printed.
//!
//! `AUTO_MUTEX_SEED` repeats a run. The numbers are only good enough to choose victims.

/// A generator (xorshift64*).
#[derive(Clone, Debug)]
pub struct Seed(u64);

impl Seed {
    /// Takes the seed from `AUTO_MUTEX_SEED`, or from the clock. The seed is printed so that a failed run can be
    /// repeated.
    pub fn announce(what: &str) -> Self {
        let seed = std::env::var("AUTO_MUTEX_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok())
            .unwrap_or_else(|| {
                let now = std::time::SystemTime::UNIX_EPOCH.elapsed();
                now.map_or(1, |now| now.as_nanos() as u64)
            });
        println!("{what}: AUTO_MUTEX_SEED={seed}");
        Self::new(seed)
    }

    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        // `| 1` avoids zero, which xorshift would never leave. The multiplication spreads small seeds.
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// The next number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % limit.max(1)
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}
