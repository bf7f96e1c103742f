//! What must hold at each instant of a run: [`Judge`] sees what the users are told.

use auto_mutex_protocol::Instant;

/// By the users' clocks, the holders have no more than the capacity.
pub const EXCLUSION: &str = "no more than the capacity is held";
/// A token is greater than each that somebody had when its user began to ask, and nobody else has it.
pub const TOKENS: &str = "tokens grow";
/// A renewal has the token of the grant.
pub const RENEWALS: &str = "a renewal keeps the token";
/// A ticket on a node belongs to a member, or its release is on its way or pending.
pub const RELEASED: &str = "nothing is left on a node";
/// Without faults, each patient user gets the lock within a time, and often.
pub const SERVICE: &str = "every patient user is served";

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
    /// The first property that did not hold, and how.
    pub(super) broken: Option<(&'static str, String)>,
}

impl Judge {
    /// Records a grant to `user`, valid until `until`. `before` is the highest token that any user had when `user`
    /// asked.
    pub(super) fn granted(
        &mut self,
        (user, token): (usize, u64),
        (units, capacity): (u32, u32),
        (now, until, before): (Instant, Instant, u64),
    ) {
        self.holds.retain(|hold| hold.until > now);
        let same = self.holds.iter().any(|hold| hold.token == token);
        self.check(TOKENS, token > before && !same, || {
            format!("{token} after {before}")
        });
        self.holds.push(Hold {
            user,
            token,
            units,
            until,
        });
        let used: u32 = self.holds.iter().map(|hold| hold.units).sum();
        let holds = format!("{:?}", self.holds);
        self.check(EXCLUSION, used <= capacity, || holds);
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

    pub(super) fn check(
        &mut self,
        property: &'static str,
        holds: bool,
        how: impl FnOnce() -> String,
    ) {
        if !holds && self.broken.is_none() {
            self.broken = Some((property, how()));
        }
    }
}
