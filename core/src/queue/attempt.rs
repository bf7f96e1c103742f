//! Attempts: requests that take a lock only if it is free, or adopt a hold. They never wait in the store.

use std::sync::Arc;
use std::time::Duration;

use super::lock_queue::Transition;
use super::ticket::{Attempting, Ticket, TicketState};
use super::waiter::{Patience, Waiter};
use crate::base::clock::Instant;
use crate::base::error::{LockError, LossCause};
use crate::store::{HolderRecord, Lease, Reply, Ticket as TicketId, meta};

/// With doubling pauses of up to 64 ms, these take 2.1 s: longer than the lease of a kept lock.
const MOST_RECALLS: u32 = 37;

impl Transition<'_> {
    pub(super) fn answer_attempt(
        &mut self,
        index: usize,
        attempt: &Attempting,
        lease: Lease,
        reply: Reply,
    ) {
        let ticket = &self.state.tickets[index];
        let waiter = &attempt.waiter;
        match reply {
            Reply::Granted { token, signal } => {
                let granted = ticket.granted(lease, token, signal);
                self.granted(index, &granted);
            }
            // The client that keeps the lock was asked to release it.
            Reply::Kept { .. } if attempt.recalls < MOST_RECALLS => {
                self.forget(index);
                let pause = Duration::from_millis(1 << attempt.recalls.min(6));
                self.try_at(
                    self.now.after(pause),
                    Attempting {
                        recalls: attempt.recalls + 1,
                        ..attempt.clone()
                    },
                );
            }
            Reply::Kept { holder } => self.attempt_failed(index, attempt, Some(&holder)),
            // An adoption gets this answer only while the store grants nothing. By the time it grants, the old lease
            // will have ended, so a retry would find nothing to adopt.
            Reply::Busy { holder } => self.attempt_failed(index, attempt, holder.as_ref()),
            // The store refuses a valid attempt only if its request was sent more than once.
            Reply::Refused | Reply::Gone if attempt.adopts.is_none() && ticket.log.count() > 1 => {
                self.forget(index);
                self.attempt(waiter.clone(), None, attempt.number);
            }
            reply => {
                self.forget(index);
                let error = match attempt.adopts {
                    Some(_) => LockError::Lost {
                        name: self.queue.name.to_string(),
                        held: Duration::ZERO,
                        cause: LossCause::Forgotten,
                    },
                    None => self.refused(&waiter.want.share, &reply),
                };
                waiter.fail(error, self.wakes);
            }
        }
    }

    /// Ends the attempt: another ticket holds the name, or the store grants nothing.
    fn attempt_failed(
        &mut self,
        index: usize,
        attempt: &Attempting,
        holder: Option<&HolderRecord>,
    ) {
        let (waiter, number) = (&attempt.waiter, attempt.number);
        self.note_contention();
        self.forget(index);
        let mut is_over = false;
        if let Patience::Poll {
            retries, interval, ..
        } = waiter.want.patience
        {
            is_over = number > retries;
            let next = self.now.after(interval);
            if !is_over && next < waiter.deadline {
                return self.try_at(
                    next,
                    Attempting {
                        waiter: waiter.clone(),
                        adopts: None,
                        number: number + 1,
                        recalls: 0,
                    },
                );
            }
        }
        let error = if is_over && (holder.is_some() || self.closed().is_none()) {
            LockError::TooManyAttempts {
                name: self.queue.name.to_string(),
                attempts: waiter.want.attempts.saturating_add(number),
                holder: holder.and_then(meta::read).map(Box::new),
            }
        } else {
            self.gave_up(waiter, holder)
        };
        waiter.fail(error, self.wakes);
    }

    fn try_at(&mut self, next: Instant, attempt: Attempting) {
        let lease = self.queue.lease_of(attempt.waiter.want.terms);
        let resting = TicketState::Attempting(attempt);
        let mut resting = Ticket::new(self.now, lease, resting);
        resting.again = next;
        self.state.tickets.push(resting);
    }

    pub(super) fn attempt(&mut self, waiter: Arc<Waiter>, adopts: Option<TicketId>, number: u32) {
        let lease = self.queue.lease_of(waiter.want.terms);
        let attempt = Attempting {
            waiter,
            adopts,
            number,
            recalls: 0,
        };
        self.begin(lease, TicketState::Attempting(attempt));
    }

    /// When the attempt fails because no answer came.
    pub(super) fn attempt_ends(&self, ticket: &Ticket) -> Option<Instant> {
        let attempt = ticket.attempting().filter(|_| !ticket.is_resting())?;
        let store_timeout = self.queue.store_timeout();
        let silence = attempt.waiter.want.patience.silence();
        let silence = store_timeout.min(silence.unwrap_or(store_timeout).max(self.limits.brief));
        Some(ticket.log.since.after(silence).max(self.state.spared))
    }
}
