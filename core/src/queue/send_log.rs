//! [`SendLog`]: when each request of a ticket was sent, so that an answer counts from the request that it answers.

use std::time::Duration;

use crate::clock::Instant;
use crate::store::{Lease, Ticket as TicketId};

/// The requests that were sent for one ticket.
#[derive(Debug)]
pub(super) struct SendLog {
    pub(super) id: TicketId,
    /// When the ticket was made.
    pub(super) since: Instant,
    /// Counter and time of a request that can still be answered. Usually there is only one; `more` has the others.
    one: Option<(u64, Instant)>,
    more: Vec<(u64, Instant)>,
    last: u64,
    /// An acquire was sent on a connection that broke before the answer: a copy of it may still reach the store.
    pub(super) late: bool,
}

impl SendLog {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            id: TicketId::random(),
            since: now,
            one: None,
            more: Vec::new(),
            last: 0,
            late: false,
        }
    }

    /// A counter for a request sent at `now`.
    pub(super) fn next(&mut self, now: Instant) -> u64 {
        self.last += 1;
        let sent = (self.last, now);
        match self.one {
            None => self.one = Some(sent),
            Some(_) => self.more.push(sent),
        }
        self.last
    }

    /// The lease and the place that a request sent at `now` asks for.
    pub(super) fn lease(&mut self, now: Instant, hold: Duration, place: Duration) -> Lease {
        Lease {
            ticket: self.id,
            counter: self.next(now),
            hold,
            place,
        }
    }

    /// When the request `counter` was sent; `None` if there is no such request that can still be answered.
    pub(super) fn at(&self, counter: u64) -> Option<Instant> {
        let mut sent = self.one.iter().chain(&self.more);
        sent.find(|sent| sent.0 == counter).map(|sent| sent.1)
    }

    /// Until when a grant of `lease` that answers request `counter` is valid; in the past if no such request can be
    /// answered.
    pub(super) fn validity(&self, counter: u64, lease: Duration) -> Instant {
        let sent = self.at(counter);
        sent.map_or(Instant::START, |sent| sent.validity(lease))
    }

    /// Forgets the requests before `counter`, because the store has executed request `counter`. Late answers to the
    /// earlier ones no longer extend a lease.
    pub(super) fn executed(&mut self, counter: u64) {
        self.one.take_if(|sent| sent.0 < counter);
        self.more.retain(|sent| sent.0 >= counter);
    }

    /// When the oldest unanswered request was sent, for a ticket that holds. The request with the lowest counter in the
    /// log counts as answered: the store has executed it.
    pub(super) fn unanswered(&self) -> Option<Instant> {
        let sent = || self.one.iter().chain(&self.more);
        let answered = sent().map(|sent| sent.0).min()?;
        let later = sent().filter(|sent| sent.0 > answered);
        later.map(|sent| sent.1).min()
    }

    /// The number of requests that were sent.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.last).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_request_without_an_answer_is_known() {
        let at = |seconds| Instant::START.after(Duration::from_secs(seconds));
        let mut log = SendLog::new(at(0));
        log.next(at(1));
        // The grant has answered the first request.
        assert_eq!(log.unanswered(), None);
        log.next(at(2));
        log.next(at(3));
        assert_eq!(log.unanswered(), Some(at(2)));
        log.executed(2);
        assert_eq!(log.unanswered(), Some(at(3)));
        log.executed(3);
        assert_eq!(log.unanswered(), None);
        log.next(at(4));
        assert_eq!(log.unanswered(), Some(at(4)));
    }
}
