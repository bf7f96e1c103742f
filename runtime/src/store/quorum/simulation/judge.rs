//! Who holds at each instant, and with which tokens.

use crate::clock::Instant;

#[derive(Debug)]
struct Hold {
    user: usize,
    token: u64,
    units: u32,
    /// How long it can be shown to be valid.
    until: Instant,
}

/// What all users believe.
#[derive(Debug, Default)]
pub(super) struct Judge {
    holds: Vec<Hold>,
    /// The highest token of those whose holds have ended.
    ended: u64,
    pub(super) grants: u64,
}

impl Judge {
    /// `user`, who asked when the ended holds had tokens up to `before`, believes to hold until then.
    pub(super) fn granted(
        &mut self,
        user: usize,
        token: u64,
        (units, capacity): (u32, u32),
        (now, until, before): (Instant, Instant, u64),
    ) {
        self.end(now);
        assert!(
            token > before,
            "a token that did not grow: {token} after {before}"
        );
        let same = self.holds.iter().any(|hold| hold.token == token);
        assert!(!same, "the same token twice: {token}");
        self.holds.push(Hold {
            user,
            token,
            units,
            until,
        });
        let used: u32 = self.holds.iter().map(|hold| hold.units).sum();
        assert!(used <= capacity, "too many hold: {:?}", self.holds);
        self.grants += 1;
    }

    pub(super) fn renewed(&mut self, user: usize, until: Instant) {
        for hold in self.holds.iter_mut().filter(|hold| hold.user == user) {
            hold.until = hold.until.max(until);
        }
    }

    pub(super) fn released(&mut self, user: usize) {
        for hold in self.holds.extract_if(.., |hold| hold.user == user) {
            self.ended = self.ended.max(hold.token);
        }
    }

    /// The highest token of a hold that has ended by `now`.
    pub(super) fn before(&mut self, now: Instant) -> u64 {
        self.end(now);
        self.ended
    }

    fn end(&mut self, now: Instant) {
        for hold in self.holds.extract_if(.., |hold| hold.until <= now) {
            self.ended = self.ended.max(hold.token);
        }
    }
}
