//! [`SendLog`]: when each request of a ticket was sent, so that a lease counts from the request that got it.

use alloc::vec::Vec;
use core::time::Duration;

use crate::{Instant, Lease, Retain, Ticket};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SendLog {
    pub(super) id: Ticket,
    pub(super) since: Instant,
    /// The request's counter and when it was sent. Usually only one can still be answered; `more` has the others.
    pub(super) one: Option<(u64, Instant)>,
    pub(super) more: Vec<(u64, Instant)>,
    pub(super) last: u64,
    /// Whether an acquire went unanswered, so that a copy of it may still reach the store.
    pub(super) late: bool,
}

impl SendLog {
    pub(super) fn new(id: Ticket, now: Instant) -> Self {
        Self {
            id,
            since: now,
            one: None,
            more: Vec::new(),
            last: 0,
            late: false,
        }
    }

    pub(super) fn next(&mut self, now: Instant) -> u64 {
        self.last += 1;
        let sent = (self.last, now);
        match self.one {
            None => self.one = Some(sent),
            Some(_) => self.more.push(sent),
        }
        self.last
    }

    pub(super) fn lease(&mut self, now: Instant, hold: Duration, place: Duration) -> Lease {
        Lease {
            ticket: self.id,
            counter: self.next(now),
            hold,
            place,
            retain: Retain::No,
        }
    }

    fn sent(&self) -> impl Iterator<Item = &(u64, Instant)> + Clone {
        self.one.iter().chain(&self.more)
    }

    /// Returns `None` if the request can no longer be answered.
    pub(super) fn at(&self, counter: u64) -> Option<Instant> {
        let found = self.sent().find(|sent| sent.0 == counter);
        found.map(|sent| sent.1)
    }

    /// In the past if the request can no longer be answered.
    pub(super) fn validity(&self, counter: u64, lease: Duration) -> Instant {
        let sent = self.at(counter);
        sent.map_or(Instant::START, |sent| sent.validity(lease))
    }

    /// The store has executed request `counter`: late answers to earlier requests extend no lease any more.
    pub(super) fn executed(&mut self, counter: u64) {
        self.one.take_if(|sent| sent.0 < counter);
        self.more.retain(|sent| sent.0 >= counter);
    }

    /// For a holding ticket. The request with the lowest counter counts as answered, because the store has executed it.
    pub(super) fn unanswered(&self) -> Option<Instant> {
        let answered = self.sent().map(|sent| sent.0).min()?;
        let later = self.sent().filter(|sent| sent.0 > answered);
        later.map(|sent| sent.1).min()
    }

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
        let mut log = SendLog::new(Ticket::from_bytes([7; 16]), at(0));
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

    #[test]
    fn what_was_executed_is_the_first_that_can_be_answered() {
        let (now, second) = (
            Instant::START.after(Duration::from_secs(60)),
            Duration::from_secs(1),
        );
        let mut log = SendLog::new(Ticket::from_bytes([7; 16]), now);
        let times: Vec<_> = (0..4).map(|seconds| now.after(second * seconds)).collect();
        for (index, time) in times.iter().enumerate() {
            assert_eq!(log.next(*time), index as u64 + 1);
        }
        log.executed(1);
        assert_eq!(log.at(1), Some(times[0]), "its own answer may come yet");
        log.executed(3);
        for (counter, known) in [(1, false), (2, false), (3, true), (4, true), (5, false)] {
            assert_eq!(log.at(counter).is_some(), known, "{counter}");
        }
        assert_eq!(log.count(), 4);
        let lease = 10 * second;
        assert_eq!(log.validity(3, lease), times[2].validity(lease));
        assert!(log.validity(2, lease) < now);
    }
}
