//! Checks which users hold at each instant, and with which tokens.

use auto_mutex_core::store::Instant;

#[derive(Debug)]
struct Hold {
    user: usize,
    token: u64,
    units: u32,
    /// The hold is certainly valid until then.
    until: Instant,
}

/// The holds of all users, according to the answers they got.
#[derive(Debug, Default)]
pub(super) struct Judge {
    holds: Vec<Hold>,
    /// The highest token that any user got.
    last: u64,
    pub(super) grants: u64,
}

impl Judge {
    /// Records a grant to `user`, valid until `until`. `before` is the highest token that any user had when `user`
    /// asked.
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
        self.last = self.last.max(token);
    }

    pub(super) fn renewed(&mut self, user: usize, until: Instant) {
        for hold in self.holds.iter_mut().filter(|hold| hold.user == user) {
            hold.until = hold.until.max(until);
        }
    }

    pub(super) fn released(&mut self, user: usize) {
        self.holds.retain(|hold| hold.user != user);
    }

    /// Returns the highest token that any user has got so far.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    fn end(&mut self, now: Instant) {
        self.holds.retain(|hold| hold.until > now);
    }
}
