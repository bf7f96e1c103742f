//! Converts the reply, messages and state of the memory store into a [`view`](super::view).

use std::collections::BTreeMap;

use auto_mutex_model::network;

use super::super::State;
use super::super::{Flag, Record};
use super::view::{Is, Known, Outcome, Said, Told, View};
use super::words::{Words, index, plain, retain};
use crate::{LIMITS, MemberId, Message, Reply, Ticket, millis};

impl Words {
    /// Translates the reply, messages and state of the memory store.
    pub(super) fn of_memory(
        &self,
        reply: Reply,
        told: Vec<(MemberId, Message)>,
        state: &State,
        now: u64,
    ) -> Outcome {
        let reply = match reply {
            Reply::Granted {
                token,
                signal: None,
            } => Said::Granted(self.fence(token)),
            Reply::Queued {
                position,
                again,
                holder,
            } => Said::Queued {
                position,
                again_ms: again.as_millis() as u64,
                holder: self.fence_of(holder),
            },
            Reply::Gone => Said::Gone,
            Reply::Refused => Said::Refused,
            Reply::Released { free } => Said::Released { free },
            Reply::Cancelled => Said::Cancelled,
            other => panic!("nobody asked for it: {other:?}"),
        };
        let told = told.into_iter().map(|(member, message)| match message {
            Message::Grant {
                ticket,
                token,
                counter,
                hold,
                signal: None,
            } => Told::Grant {
                member: index(member),
                ticket: plain(ticket),
                token: self.fence(token),
                counter,
                hold_ms: hold.as_millis() as u64,
            },
            Message::Recall { ticket } => Told::Recall {
                member: index(member),
                ticket: plain(ticket),
            },
            Message::Near { ticket } => Told::Near {
                member: index(member),
                ticket: plain(ticket),
            },
            other => panic!("nobody asked for it: {other:?}"),
        });
        Outcome {
            reply,
            told: told.collect(),
            state: self.state(state, now),
        }
    }

    fn state(&self, state: &State, now: u64) -> View {
        let left = |until: u64| self.ticks(until.saturating_sub(now));
        let mut tickets: BTreeMap<u64, Known> = BTreeMap::new();
        for (&ticket, record) in &state.records {
            let mut held = state.held.iter().filter(|held| held.1 == ticket);
            let place = left(record.place_ends());
            let is = match held.next() {
                Some(&(until, _)) if record.flag == Flag::Plain => Is::Holder {
                    left: left(until),
                    token: self.fence(record.token),
                },
                Some(&(until, _)) => Is::Provisional {
                    left: left(until),
                    token: self.fence(record.token),
                    place,
                },
                None => self.waiter(state, ticket, record, now),
            };
            let all = [
                network::Retain::No,
                network::Retain::InUse,
                network::Retain::Kept,
            ];
            let same = |of_model: &network::Retain| retain(*of_model) == record.retain;
            let known = Known {
                ticket: plain(ticket),
                counter: record.counter,
                hold: self.ticks(record.hold_ms * 1000),
                retain: all.into_iter().find(same).unwrap(),
                is,
            };
            assert!(tickets.insert(record.place, known).is_none(), "one place");
            assert!(held.next().is_none(), "it holds once");
        }
        let gone = state.gone.iter();
        let mut gone: Vec<_> = gone
            .map(|(ticket, until)| (plain(*ticket), left(*until)))
            .collect();
        gone.sort_unstable();
        assert_eq!(
            state.queue.len() + state.quiet.len() + state.held.len(),
            state.records.len(),
            "each ticket holds or waits"
        );
        View {
            capacity: state.capacity,
            last: self.fence(state.token),
            tickets: tickets.into_values().collect(),
            gone,
        }
    }

    fn waiter(&self, state: &State, ticket: Ticket, record: &Record, now: u64) -> Is {
        let left = |until: u64| self.ticks(until.saturating_sub(now));
        let place = left(record.place_ends());
        let lists = [&state.queue, &state.quiet];
        match lists.map(|list| list.get(&record.place) == Some(&ticket)) {
            [true, false] => {
                let age = (record.told > 0).then(|| self.ticks(now - record.told));
                let longest = millis(LIMITS.claim) / self.tick_ms + 1;
                Is::Waiting {
                    place,
                    notified: age.map(|age| age.min(longest)),
                }
            }
            [false, true] => Is::PassedOver { place },
            both => panic!("in the queue, quiet: {both:?}"),
        }
    }
}
