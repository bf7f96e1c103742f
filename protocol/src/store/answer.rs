//! Reads the state of a ticket and of the name.

use alloc::vec::Vec;
use core::time::Duration;

use super::{Record, State, Step, micros};
use crate::{HolderRecord, Limits, NameRecord, Reply, Retain, Ticket, TicketRecord, millis};

impl State {
    pub(super) fn status_of(&self, step: &Step<'_>, ticket: Ticket) -> Reply {
        let now = step.now;
        let Some(record) = self.records.get(&ticket) else {
            return Reply::Gone;
        };
        // With less frequent touches, the waiter would lose its place.
        let third = record.place_ms / 3;
        let soon = millis(step.limits.near_touch).min(third);
        if self.is_unclaimed(step, ticket) {
            let again_ms = step.grants_from.saturating_sub(now).div_ceil(1000) + 1;
            return Reply::Queued {
                position: 1,
                again: Duration::from_millis(again_ms.min(soon).max(1)),
                holder: None,
            };
        }
        let Some(index) = self.queue.values().position(|waiting| *waiting == ticket) else {
            return Reply::Granted {
                token: record.token,
                signal: record.signal.as_ref().map(|signal| signal.1.clone()),
            };
        };
        let again_ms = if index < step.limits.near {
            let first_end = self.held.iter().map(|held| held.0).min();
            // While the store grants nothing, no ticket is granted when a lease ends.
            let first_end = match step.is_closed() {
                true => first_end.unwrap_or(0).max(step.grants_from),
                false => first_end.unwrap_or(u64::MAX),
            };
            let end_ms = first_end.saturating_sub(now).div_ceil(1000);
            soon.min(end_ms.saturating_add(1))
        } else if record.told > 0 {
            soon
        } else {
            third
        };
        Reply::Queued {
            position: index as u64 + 1,
            again: Duration::from_millis(again_ms.max(1)),
            holder: self.holder(),
        }
    }

    pub(super) fn holder(&self) -> Option<HolderRecord> {
        let by_token = |record: &&Record| (record.token, record.place);
        let first = self.holders().min_by_key(by_token)?;
        Some(HolderRecord {
            token: first.token,
            meta: first.meta.clone(),
        })
    }

    /// The state of the name at the store's time `now`, in microseconds. See [`Op::Inspect`](crate::Op::Inspect) for
    /// `above`.
    pub fn inspect(&self, now: u64, above: u32, limits: &Limits) -> NameRecord {
        let describe = |ticket: Ticket, until: u64| {
            let record = self.records.get(&ticket)?;
            (until > now).then(|| TicketRecord {
                ticket,
                member: record.member,
                units: record.units,
                takes: record.takes,
                since: match record.token {
                    0 => record.place,
                    token => token,
                },
                token: record.token,
                meta: record.meta.clone(),
                left: Duration::from_micros(until - now),
                parked: record.is_parked(),
                passed_over: record.is_waiting() && self.quiet.contains_key(&record.place),
                kept: record.retain == Retain::Kept,
            })
        };
        let mut holders: Vec<_> = self
            .held
            .iter()
            .filter_map(|&(until, ticket)| describe(ticket, until))
            .collect();
        holders.sort_by_key(|holder| {
            let record = self.records.get(&holder.ticket);
            (holder.token, record.map(|record| record.place))
        });
        let is_for_none = above > 0 && self.capacity.is_some_and(|capacity| above >= capacity);
        let waiters = match is_for_none {
            true => Vec::new(),
            false => self.waiters(),
        };
        let waiters = waiters
            .into_iter()
            .filter_map(|(_, ticket)| describe(ticket, self.records.get(&ticket)?.place_ends()))
            .collect();
        // The signals of holders whose leases have ended count as available: the next operation recovers them.
        let ended = self.held.iter().filter(|held| held.0 <= now);
        let returned = ended
            .filter_map(|held| self.records.get(&held.1))
            .filter(|record| record.signal.is_some());
        let signals = (self.signals.len() + returned.count()) as u64;
        NameRecord {
            kick: self
                .kick
                .clone()
                .filter(|kick| above == 0 && now < kick.at + micros(limits.signals_kept)),
            token: self.token,
            capacity: self.capacity,
            used: self.used_by(self.held.iter().filter(|held| held.0 > now)),
            signals,
            exists: self.known || signals > 0,
            holders,
            waiters,
        }
    }
}
