//! Converts the reply, messages and state of the model's store into a [`view`](super::view).

use auto_mutex_model::network::{self, Message, Request};
use auto_mutex_model::rules::Rules;
use auto_mutex_model::store::{self, Store};
use auto_mutex_model::world::Executed;

use super::view::{Is, Known, Outcome, Said, Told, View};
use super::words::Words;
use crate::{LIMITS, millis};

impl Words {
    /// Translates the reply, messages and state of the model's store.
    pub(super) fn of_model(
        &self,
        executed: &Executed,
        held_before: bool,
        store: &Store,
        rules: &Rules,
    ) -> Outcome {
        let grants = executed.told.iter().filter_map(Message::grant);
        let grants = grants.map(|grant| Told::Grant {
            member: grant.ticket.member,
            ticket: grant.ticket,
            token: grant.token.fence,
            counter: grant.counter.into(),
            hold_ms: self.millis(grant.hold),
        });
        let recalls = executed.told.iter().filter(|it| it.grant().is_none());
        let recalls = recalls.map(|message| Told::Recall {
            member: message.ticket().member,
            ticket: message.ticket(),
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
            told: grants.chain(near).chain(recalls).collect(),
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

    /// Returns the reply `Queued` that `docs/protocol.md` prescribes for the model's records.
    fn queued(&self, executed: &Executed, store: &Store, rules: &Rules) -> Said {
        let opens_ms = self.millis(executed.closed);
        let third = self.millis(rules.place) / 3;
        let soon = millis(LIMITS.near_touch).min(third);
        let waiting = |record: &&store::Record| record.lease.is_none() && !record.quiet;
        let mut queue = store.records.iter().filter(waiting).enumerate();
        let Some((index, record)) = queue.find(|it| it.1.ticket == executed.request.ticket) else {
            // The ticket has a provisional grant that it may not claim now.
            return Said::Queued {
                position: 1,
                again_ms: soon.min(opens_ms + 1).max(1),
                holder: None,
            };
        };
        let leases = store.records.iter().filter_map(|record| record.lease);
        let again_ms = if index < LIMITS.near {
            let first = leases.clone().map(|lease| self.millis(lease.left)).min();
            let first = match executed.closed {
                0 => first.unwrap_or(u64::MAX - 1),
                _ => first.unwrap_or(0).max(opens_ms),
            };
            soon.min(first + 1)
        } else if record.notified.is_some() {
            soon
        } else {
            third
        };
        Said::Queued {
            position: index as u64 + 1,
            again_ms: again_ms.max(1),
            holder: leases.map(|lease| lease.token.fence).min(),
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
        hold: record.hold.into(),
        retain: record.retain,
        is,
    }
}

/// Whether a release of the ticket ends a hold. A claimed hold counts until an operation notices the end of its lease.
pub(super) fn holds(store: &Store, request: Request) -> bool {
    let record = store.find(request.ticket).map(|at| store.records[at]);
    let lease = record.and_then(|record| record.lease);
    lease.is_some_and(|lease| lease.left > 0 || !lease.provisional)
}
