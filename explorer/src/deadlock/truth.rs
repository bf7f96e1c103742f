//! Which tasks are really deadlocked: whatever can end does, and the tasks that are left wait forever. Uses what tasks
//! do in the store, and none of the rules of the search.

use super::rules::Setup;
use super::world::{End, World};

/// The tasks that hold something and wait forever.
pub(super) fn stuck_tasks(world: &World, rules: &Setup) -> Vec<u8> {
    let all = 0..world.tasks.len() as u8;
    let waits =
        |task: &u8| world.task(*task).wait.is_some() && world.task(*task).held().count() > 0;
    if !all.clone().any(|task| waits(&task)) {
        return Vec::new();
    }
    let mut end = world.clone();
    for name in rules.names() {
        end.unpark(name, rules);
        end.expire(name, rules);
    }
    let runs = |end: &World, task: u8| end.task(task).wait.is_none();
    while let Some(task) = all
        .clone()
        .find(|task| runs(&end, *task) && !end.task(*task).holds.is_empty())
    {
        if let Some(hold) = end.task_mut(task).holds.pop() {
            // If a handoff to a task of the same member is allowed, it comes first, because it may overtake other
            // waiters.
            let how = match end.may_hand_off(task, &hold, rules) {
                true => End::Handoff,
                false => End::Release,
            };
            end.end_hold(task, &hold, how, rules);
        }
    }
    let is_stuck = |task: &u8| end.task(*task).wait.is_some() && end.task(*task).held().count() > 0;
    all.filter(is_stuck).collect()
}

/// Whether the task waits forever in a cycle: it waits for tasks that wait for it, directly or not.
pub(super) fn is_in_a_cycle(world: &World, task: u8, stuck: &[u8]) -> bool {
    let blockers = |waiting: u8| {
        let name = world.task(waiting).wait.map(|wait| wait.name);
        let holds = move |other: &u8| {
            let mut holds = world.task(*other).held();
            holds.any(|hold| Some(hold.name) == name)
        };
        stuck.iter().copied().filter(holds)
    };
    let mut reached: Vec<u8> = blockers(task).collect();
    let mut at = 0;
    while let Some(next) = reached.get(at).copied() {
        for other in blockers(next) {
            if !reached.contains(&other) {
                reached.push(other);
            }
        }
        at += 1;
    }
    stuck.contains(&task) && reached.contains(&task)
}
