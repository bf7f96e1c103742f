//! The short ways: an acquire of a name that is free, a release by its only holder, and both of them told afterwards.
//!
//! They do what [`apply`](State::apply) does, or nothing: whoever is told so goes the long way.

use super::State;
use crate::store::memory::record::{Flag, Record, millis};
use crate::store::{Clock, Loan, MemberId, Seat, Ticket};

impl State {
    /// Grants `seat`, if nobody has to do with the name; answers with the token.
    #[inline]
    pub(crate) fn grant_alone(
        &mut self,
        now: u64,
        member: MemberId,
        seat: &Seat<'_>,
    ) -> Option<u64> {
        if !seat.share.fits() || !self.is_idle() {
            return None;
        }
        let now = self.begin_alone(now);
        Some(self.sit(now, member, seat))
    }

    /// What a member must know to grant and release the name by itself, if nobody has to do with it.
    pub(crate) fn lend(&self, clock: Clock) -> Option<Loan> {
        self.is_idle()
            .then(|| Loan::new(clock, self.token, self.clock))
    }

    /// As if every grant and release of `loan` had been told at its time; the last one still holds, if it is `held`.
    pub(crate) fn take_back(&mut self, member: MemberId, loan: &Loan, held: Option<&Seat<'_>>) {
        self.known = true;
        self.last_signal = 0;
        self.begin_alone(loan.last());
        self.token = loan.token();
        if let Some(seat) = held {
            // It gets the same token again.
            self.token -= 1;
            self.sit(loan.last(), member, seat);
        }
    }

    #[inline]
    fn sit(&mut self, now: u64, member: MemberId, seat: &Seat<'_>) -> u64 {
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
        self.seat(now, seat.ticket, record)
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
