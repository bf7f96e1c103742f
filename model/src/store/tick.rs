//! The store's clock advances or is stepped back.

use super::Store;
use crate::rules::Rules;

impl Store {
    /// Advances the store's clock by one tick.
    pub fn tick(&mut self, rules: &Rules) {
        self.closed = self.closed.saturating_sub(1);
        if self.stepped_back {
            return;
        }
        // No rule tells longer times since a notification apart.
        let longest = rules.place.min(rules.claim + 1);
        for record in &mut self.records {
            record.place = record.place.saturating_sub(1);
            record.notified = record.notified.map(|age| (age + 1).min(longest));
            if let Some(lease) = &mut record.lease {
                lease.left = lease.left.saturating_sub(1);
            }
        }
        for gone in &mut self.gone {
            gone.1 = gone.1.saturating_sub(1);
        }
    }

    /// Steps the clock far back, so that every deadline is far in the future. The next operation would cut each
    /// remaining time to its full length, so the full lengths are set here. (A lease that had ended, but that no
    /// operation has dropped yet, thus continues.)
    pub fn step_back(&mut self, rules: &Rules) {
        self.stepped_back = true;
        for record in &mut self.records {
            record.notified = record.notified.map(|_| 0);
            match &mut record.lease {
                Some(lease) if lease.provisional => {
                    lease.left = rules.claim.min(record.hold);
                    record.place = rules.place;
                }
                Some(lease) => lease.left = record.hold,
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
