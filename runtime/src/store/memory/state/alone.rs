//! The short ways: an acquire of a name that is free, and a release by its only holder.
//!
//! They do what [`apply`](State::apply) does, or nothing: whoever is told so goes the long way.

use super::State;
use crate::store::memory::record::{Flag, Record, millis};
use crate::store::{MemberId, Reply, Seat, Ticket};

impl State {
    /// Grants `seat`, if nobody has to do with the name; answers with the token.
    #[inline]
    pub(crate) fn grant_alone(
        &mut self,
        now: u64,
        member: MemberId,
        seat: &Seat<'_>,
    ) -> Option<u64> {
        let fits = (1..=seat.share.capacity).contains(&seat.share.units);
        if !fits || !self.is_idle() {
            return None;
        }
        let now = self.begin_alone(now);
        self.last_signal = 0;
        self.known = true;
        self.capacity = Some(seat.share.capacity);
        self.places = 1;
        let record = Record {
            place: 1,
            units: seat.share.units,
            takes: seat.share.takes,
            signal: None,
            owner: seat.share.owner.clone(),
            hold_ms: millis(seat.hold),
            place_ms: millis(seat.place),
            counter: seat.counter,
            heard: now,
            told: now,
            token: 0,
            flag: Flag::Plain,
            member,
            meta: seat.meta.clone(),
        };
        match self.seat(now, seat.ticket, record) {
            Reply::Granted { token, .. } => Some(token),
            _ => None,
        }
    }

    /// Releases `ticket`, if it holds, and nobody else has to do with the name; answers with the units that are free.
    #[inline]
    pub(crate) fn release_alone(&mut self, now: u64, ticket: Ticket) -> Option<u64> {
        let &[(until, _)] = &*self.held else {
            return None;
        };
        let alone = self.records.len() == 1 && self.gone.is_empty() && self.signals.is_empty();
        if !alone || until <= now.max(self.clock) {
            return None;
        }
        let record = self.records.get(&ticket)?;
        if record.is_parked() || record.signal.is_some() {
            return None;
        }
        self.begin_alone(now);
        self.held.clear();
        self.records.clear();
        let free = self.capacity.take();
        self.places = 0;
        Some(free.map_or(0, u64::from))
    }

    /// The time may have been read before that of the operation before.
    fn begin_alone(&mut self, now: u64) -> u64 {
        self.clock = self.clock.max(now);
        self.clock
    }
}
