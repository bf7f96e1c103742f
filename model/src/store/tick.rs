//! The store's clock goes on, or back.

use super::Store;
use crate::rules::Rules;

impl Store {
    /// One tick passes.
    pub fn tick(&mut self) {
        self.closed = self.closed.saturating_sub(1);
        for record in &mut self.records {
            record.place = record.place.saturating_sub(1);
            if let Some(lease) = &mut record.lease {
                lease.left = lease.left.saturating_sub(1);
            }
        }
        for gone in &mut self.gone {
            gone.1 = gone.1.saturating_sub(1);
        }
        self.gone.retain(|gone| gone.1 > 0);
    }

    /// The clock is stepped back, far: nothing lasts longer than if it were set now. (What has ended unnoticed lives on.)
    pub fn step_back(&mut self, rules: &Rules) {
        for record in &mut self.records {
            match &mut record.lease {
                Some(lease) if lease.provisional => {
                    lease.left = rules.claim.min(rules.lease);
                    record.place = rules.place;
                }
                Some(lease) => lease.left = rules.lease,
                None => record.place = rules.place,
            }
        }
        for gone in &mut self.gone {
            gone.1 = rules.tomb;
        }
        if self.closed > 0 {
            self.closed = rules.closed;
        }
    }
}
