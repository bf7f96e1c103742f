//! Attempts: requests that take a lock only if it is free, or adopt a hold. They never wait in the store.

use core::time::Duration;

use super::call::{Caller, Patience};
use super::input::Failure;
use super::ticket::{Attempting, Ticket, TicketState};
use super::{Env, State, Step};
use crate::{HolderRecord, Instant, Lease, LossCause, Reply, Ticket as TicketId};

impl<C: Caller> Step<'_, '_, C> {
    #[inline]
    pub(super) fn answer_attempt(&mut self, index: usize, lease: Lease, reply: Reply) {
        let ticket = &self.state.tickets[index];
        let Some(attempt) = ticket.attempting() else {
            return;
        };
        match reply {
            Reply::Granted { token, signal } => {
                let granted = ticket.granted(lease, token, signal);
                self.granted(index, &granted);
            }
            // The client that keeps the lock was asked to release it.
            Reply::Kept { .. } if attempt.recalls < self.limits.recalls => {
                let (attempt, pause) = (attempt.clone(), 1 << attempt.recalls.min(6));
                self.forget(index);
                let attempt = Attempting {
                    recalls: attempt.recalls + 1,
                    ..attempt
                };
                self.try_at(self.now.after(Duration::from_millis(pause)), attempt);
            }
            Reply::Kept { holder } => self.attempt_failed(index, Some(holder)),
            // An adoption gets this answer only while the store grants nothing. By the time it grants, the old lease
            // will have ended, so a retry would find nothing to adopt.
            Reply::Busy { holder } => self.attempt_failed(index, holder),
            // The store refuses a valid attempt only if its request was sent more than once.
            Reply::Refused | Reply::Gone if attempt.adopts.is_none() && ticket.log.count() > 1 => {
                let attempt = attempt.clone();
                self.forget(index);
                self.attempt(attempt.caller, None, attempt.number);
            }
            reply => {
                let error = match attempt.adopts {
                    Some(_) => Failure::Lost {
                        held: Duration::ZERO,
                        cause: LossCause::Forgotten,
                    },
                    None => Self::refused(&attempt.caller.want().share, &reply),
                };
                let caller = attempt.caller.clone();
                self.forget(index);
                self.fail(caller, error);
            }
        }
    }

    /// Ends the attempt: another ticket holds the name, or the store grants nothing.
    fn attempt_failed(&mut self, index: usize, holder: Option<HolderRecord>) {
        let Some(attempt) = self.state.tickets[index].attempting().cloned() else {
            return;
        };
        let (waiter, number) = (attempt.caller, attempt.number);
        self.note_contention();
        self.forget(index);
        let mut is_over = false;
        if let Patience::Poll {
            retries, interval, ..
        } = waiter.want().patience
        {
            is_over = number > retries;
            let next = self.now.after(interval);
            if !is_over && next < waiter.call().deadline() {
                let attempt = Attempting {
                    caller: waiter,
                    adopts: None,
                    number: number + 1,
                    recalls: 0,
                };
                return self.try_at(next, attempt);
            }
        }
        let error = if is_over && (holder.is_some() || self.env.closed.is_none()) {
            Failure::TooManyAttempts {
                attempts: waiter.want().attempts.saturating_add(number),
                holder,
            }
        } else {
            self.gave_up(&waiter, holder)
        };
        self.fail(waiter, error);
    }

    fn try_at(&mut self, next: Instant, attempt: Attempting<C>) {
        let lease = self
            .env
            .client
            .lease_of(attempt.caller.want().tenure.expire);
        let resting = TicketState::Attempting(attempt);
        let mut resting = Ticket::new((self.env.ticket)(), self.now, lease, resting);
        resting.again = next;
        self.state.tickets.push(resting);
    }

    #[inline]
    pub(super) fn attempt(&mut self, waiter: C, adopts: Option<TicketId>, number: u32) {
        let lease = self.env.client.lease_of(waiter.want().tenure.expire);
        // Nobody keeps what was handed over.
        let retains = adopts.is_none() && self.may_retain(&waiter);
        let attempt = Attempting {
            caller: waiter,
            adopts,
            number,
            recalls: 0,
        };
        self.begin(lease, retains, TicketState::Attempting(attempt));
    }
}

impl<C: Caller> State<C> {
    /// When the attempt fails because no answer came.
    pub(super) fn attempt_ends(&self, ticket: &Ticket<C>, env: &Env<'_>) -> Option<Instant> {
        let attempt = ticket.attempting().filter(|_| !ticket.is_resting())?;
        let store_timeout = env.client.store_timeout;
        let silence = attempt.caller.want().patience.silence();
        let silence = silence.unwrap_or(store_timeout).max(env.limits.brief);
        let ends = ticket.log.since.after(store_timeout.min(silence));
        Some(ends.max(self.spared))
    }
}
