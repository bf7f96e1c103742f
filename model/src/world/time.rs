//! The steps that advance clocks.

use super::World;
use crate::rules::Rules;

impl World {
    pub(super) fn tick(&mut self, slow: u8, rules: &Rules) {
        self.store_tick(rules);
        for index in 0..self.members.len() {
            let is_slow = slow >> index & 1 == 1;
            if is_slow {
                self.members[index].slips -= 1;
            } else {
                self.member_tick(index, rules);
            }
        }
    }

    pub(super) fn store_tick(&mut self, rules: &Rules) {
        self.store.tick(rules);
        for member in &mut self.members {
            member.closed = member.closed.saturating_sub(1);
        }
        if let Some(replica) = &mut self.replica {
            replica.tick(rules);
        }
        if rules.clock_may_stall() {
            self.later = true;
        }
        for connection in &mut self.connections {
            for late in &mut connection.late {
                late.1 = late.1.saturating_sub(1);
            }
            connection.late.retain(|late| late.1 > 0);
        }
    }

    pub(super) fn member_tick(&mut self, index: usize, rules: &Rules) {
        let forgotten = rules.validity(rules.lease, 0);
        self.members[index].tick(forgotten);
    }
}
