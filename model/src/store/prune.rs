//! The first step of every operation: it drops leases, places and tombstones that have ended.

use super::{Record, Store};
use crate::network::Ticket;
use crate::rules::{Rules, Safeguard};

impl Store {
    /// Drops records and tombstones that have ended. A claimed holder that this operation releases is kept.
    pub(super) fn prune(&mut self, rules: &Rules, releasing: Option<Ticket>) {
        self.stepped_back = false;
        self.gone.retain(|gone| gone.1 > 0);
        let places_end = rules.keeps(Safeguard::PlaceEnds);
        self.records
            .retain_mut(|record| keep(record, releasing) || !places_end && record.lease.is_none());
    }
}

fn keep(record: &mut Record, releasing: Option<Ticket>) -> bool {
    match record.lease {
        None => record.place > 0,
        Some(lease) if lease.provisional => {
            if lease.left == 0 {
                record.lease = None;
                record.quiet = true;
                return record.place > 0;
            }
            true
        }
        Some(lease) => lease.left > 0 || releasing == Some(record.ticket),
    }
}
