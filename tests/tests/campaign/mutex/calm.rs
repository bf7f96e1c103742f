//! A contest without faults: nothing may go wrong, and every task gets a fair share.

use super::plan;
use crate::arena::{Arena, alone, duration};
use crate::judge::is_calm;

#[test]
fn sixty_four_tasks_in_eight_processes_take_turns() {
    let _alone = alone();
    let mut arena = Arena::open(plan("calm", 10, duration(2)));
    arena.watch_to_the_end();
    is_calm(&mut arena);
}
