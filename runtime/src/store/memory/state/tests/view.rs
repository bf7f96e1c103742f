//! What both stores say and have, in the same words: those of the model, with times in ticks.

use std::collections::BTreeMap;
use std::time::Duration;

use auto_mutex_model::network::{self, Fence, Request};
use auto_mutex_model::rules::Rules;
use auto_mutex_model::store::{self, Store};
use auto_mutex_model::world::Executed;

use crate::store::limits::{CLAIM_MS, NEAR, NEAR_MS, TOMBSTONE_MS};
use crate::store::memory::record::{Flag, Record};
use crate::store::memory::state::State;
use crate::store::{HolderRecord, MemberId, Message, Reply, Ticket};

/// What a step led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) reply: Said,
    /// In order.
    pub(super) told: Vec<Told>,
    pub(super) state: View,
}

/// A reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Granted(Fence),
    Queued {
        position: u64,
        again_ms: u64,
        holder: Option<Fence>,
    },
    Gone,
    Refused,
    Released {
        free: u64,
    },
    Cancelled,
}

/// A message, and to whom.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    Grant {
        member: u8,
        ticket: network::Ticket,
        token: Fence,
        counter: u64,
        hold_ms: u64,
    },
    /// It is among the first.
    Near { member: u8, ticket: network::Ticket },
}

/// The state of the name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct View {
    capacity: Option<u32>,
    last: Fence,
    /// In order of place.
    tickets: Vec<Known>,
    /// In order of ticket.
    gone: Vec<(network::Ticket, u64)>,
}

/// A ticket.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    ticket: network::Ticket,
    counter: u64,
    is: Is,
}

#[derive(Debug, PartialEq, Eq)]
enum Is {
    Holder {
        left: u64,
        token: Fence,
    },
    /// It has not claimed; then its place counts.
    Provisional {
        left: u64,
        token: Fence,
        place: u64,
    },
    Waiting {
        place: u64,
        /// Up to a tick longer than a claim.
        notified: Option<u64>,
    },
    PassedOver {
        place: u64,
    },
}

/// How the words of the one are those of the other.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub(super) tick_ms: u64,
    /// What was given with each token.
    tokens: BTreeMap<Fence, u64>,
}

impl Words {
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            tick_ms: CLAIM_MS / u64::from(rules.claim),
            tokens: BTreeMap::new(),
        }
    }

    /// A tombstone in ticks.
    pub(super) fn tomb(claim: u8) -> u8 {
        (TOMBSTONE_MS * u64::from(claim) / CLAIM_MS) as u8
    }

    pub(super) fn millis(&self, ticks: u8) -> u64 {
        u64::from(ticks) * self.tick_ms
    }

    pub(super) fn duration(&self, ticks: u8) -> Duration {
        Duration::from_millis(self.millis(ticks))
    }

    fn ticks(&self, micros: u64) -> u64 {
        let tick = self.tick_ms * 1000;
        assert_eq!(micros % tick, 0, "times are whole ticks");
        micros / tick
    }

    /// The model has given this token, and the memory store that one.
    pub(super) fn given(&mut self, fence: Fence, token: u64) -> Result<(), String> {
        let known = *self.tokens.entry(fence).or_insert(token);
        let tokens = self.tokens.values();
        if known == token && tokens.is_sorted_by(|one, next| one < next) {
            return Ok(());
        }
        Err(format!("{token} is given for {fence}: {:?}", self.tokens))
    }

    fn fence(&self, token: u64) -> Fence {
        if token == 0 {
            return 0;
        }
        let mut known = self.tokens.iter();
        let found = known.find(|known| *known.1 == token);
        found.map_or(Fence::MAX, |known| *known.0)
    }

    fn fence_of(&self, holder: Option<HolderRecord>) -> Option<Fence> {
        holder.map(|holder| self.fence(holder.token))
    }

    /// What the model's store said and has.
    pub(super) fn of_model(
        &self,
        executed: &Executed,
        held_before: bool,
        store: &Store,
        rules: &Rules,
    ) -> Outcome {
        let told = executed.told.iter().map(|message| Told::Grant {
            member: message.ticket.member,
            ticket: message.ticket,
            token: message.token.fence,
            counter: message.counter.into(),
            hold_ms: self.millis(rules.claim.min(rules.lease)),
        });
        let near = executed.notified.iter().map(|ticket| Told::Near {
            member: ticket.member,
            ticket: *ticket,
        });
        let held = store.records.iter().filter(|it| it.lease.is_some()).count() as u64;
        let reply = match executed.reply {
            network::Reply::Granted(token) => Said::Granted(token.fence),
            network::Reply::Queued => self.queued(executed, store, rules),
            network::Reply::Gone => Said::Gone,
            network::Reply::Refused => Said::Refused,
            network::Reply::Left if held_before => Said::Released {
                free: u64::from(rules.capacity).saturating_sub(held),
            },
            network::Reply::Left => Said::Cancelled,
        };
        let tickets = store.records.iter().map(|record| known(record, rules));
        Outcome {
            reply,
            told: told.chain(near).collect(),
            state: View {
                capacity: (!store.records.is_empty()).then_some(rules.capacity.into()),
                last: store.last,
                tickets: tickets.collect(),
                gone: (store.gone.iter())
                    .map(|gone| (gone.0, gone.1.into()))
                    .collect(),
            },
        }
    }

    /// What `docs/protocol.md` makes of the model's records.
    fn queued(&self, executed: &Executed, store: &Store, rules: &Rules) -> Said {
        let opens_ms = self.millis(executed.closed);
        let waiting = |record: &&store::Record| record.lease.is_none() && !record.quiet;
        let mut queue = store.records.iter().filter(waiting).enumerate();
        let Some((index, record)) = queue.find(|it| it.1.ticket == executed.request.ticket) else {
            // It may not claim.
            return Said::Queued {
                position: 1,
                again_ms: NEAR_MS.min(opens_ms + 1),
                holder: None,
            };
        };
        let leases = store.records.iter().filter_map(|record| record.lease);
        let place_ms = self.millis(rules.place);
        let again_ms = if index < NEAR {
            let first = leases.clone().map(|lease| self.millis(lease.left)).min();
            let first = match executed.closed {
                0 => first.unwrap_or(u64::MAX - 1),
                _ => first.unwrap_or(0).max(opens_ms),
            };
            NEAR_MS.min(first + 1)
        } else if record.notified.is_some() {
            NEAR_MS.min(place_ms / 3)
        } else {
            place_ms / 3
        };
        Said::Queued {
            position: index as u64 + 1,
            again_ms: again_ms.max(1),
            holder: leases.map(|lease| lease.token.fence).min(),
        }
    }

    /// What the memory store said and has.
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
            let place = left(record.heard + record.place_ms * 1000);
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
            let counter = record.counter;
            let known = Known {
                ticket: plain(ticket),
                counter,
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
            state.waits.len() + state.held.len(),
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
        let place = left(state.waits[&ticket]);
        assert_eq!(place, left(record.heard + record.place_ms * 1000));
        let lists = [&state.queue, &state.quiet];
        match lists.map(|list| list.get(&record.place) == Some(&ticket)) {
            [true, false] => {
                let age = (record.told > 0).then(|| self.ticks(now - record.told));
                let longest = CLAIM_MS / self.tick_ms + 1;
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

fn known(record: &store::Record, rules: &Rules) -> Known {
    let place = record.place.into();
    let is = match record.lease {
        Some(lease) if lease.provisional => Is::Provisional {
            left: lease.left.into(),
            token: lease.token.fence,
            place,
        },
        Some(lease) => Is::Holder {
            left: lease.left.into(),
            token: lease.token.fence,
        },
        None if record.quiet => Is::PassedOver { place },
        None => Is::Waiting {
            place,
            notified: (record.notified).map(|age| age.min(rules.claim + 1).into()),
        },
    };
    Known {
        ticket: record.ticket,
        counter: record.counter.into(),
        is,
    }
}

/// The member with this number.
pub(super) fn member(index: u8) -> MemberId {
    MemberId::parse(&format!("{:032x}", u32::from(index) + 1)).unwrap()
}

fn index(member: MemberId) -> u8 {
    u128::from_str_radix(&member.to_string(), 16).unwrap() as u8 - 1
}

/// A ticket of the model, as the memory store knows it.
pub(super) fn ticket(plain: network::Ticket) -> Ticket {
    let number = u32::from(plain.member) << 8 | u32::from(plain.number);
    Ticket::parse(&format!("{:032x}", number + 1)).unwrap()
}

fn plain(ticket: Ticket) -> network::Ticket {
    let number = u128::from_str_radix(&ticket.to_string(), 16).unwrap() as u32 - 1;
    network::Ticket {
        member: (number >> 8) as u8,
        number: number as u8,
    }
}

/// Whether a release of the ticket ends a hold: of a holder nobody has missed, also when its lease has ended.
pub(super) fn holds(store: &Store, request: Request) -> bool {
    let record = store.find(request.ticket).map(|at| store.records[at]);
    let lease = record.and_then(|record| record.lease);
    lease.is_some_and(|lease| lease.left > 0 || !lease.provisional)
}
