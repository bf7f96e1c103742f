//! Which tasks are really deadlocked: whatever can end does, and the remaining tasks wait forever.
//!
//! Uses the store's own steps, and none of the rules of the search.

use super::Id;
use super::rules::Rules;
use super::search::Search;
use super::world::{End, World};

/// A hold that is never released, because the wait of its task never ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stuck {
    /// The token of the hold.
    pub token: Id,
    /// The wait of its task.
    pub wait: Id,
    /// The hold that a search by this task would choose to fail; 0 if the search finds no cycle.
    pub chosen: Id,
}

/// Returns all holds that are never released.
#[must_use]
pub fn stuck(world: &World, rules: &Rules) -> Vec<Stuck> {
    let mut stuck = Vec::new();
    for task in stuck_tasks(world, rules) {
        let Some(wait) = world.tasks[task].wait else {
            continue;
        };
        let chosen = world.search_at_once(task, rules);
        let chosen = chosen.map_or(0, |cycle| cycle.chosen);
        stuck.extend(world.tasks[task].holds.iter().map(|hold| Stuck {
            token: hold.token,
            wait: wait.id,
            chosen,
        }));
    }
    stuck
}

/// Returns the tasks that hold something and wait forever.
#[must_use]
pub fn stuck_tasks(world: &World, rules: &Rules) -> Vec<usize> {
    let mut end = world.clone();
    end.search = Search::Idle;
    for name in 0..end.locks.len() {
        end.locks[name].holders.retain(|holder| !holder.parked);
        end.expire(name, rules);
    }
    loop {
        let running = |task: &usize| end.tasks[*task].wait.is_none();
        let holding = |task: &usize| !end.tasks[*task].holds.is_empty();
        let next = (0..end.tasks.len()).find(|task| running(task) && holding(task));
        let Some(task) = next else {
            break;
        };
        if let Some(hold) = end.tasks[task].holds.pop() {
            // If a handoff to a task of the same member is allowed, it comes first, because it may overtake other
            // waiters.
            let how = match rules.handoff && end.can_hand_on(task, &hold, rules) {
                true => End::Handoff,
                false => End::Release,
            };
            end.end_hold(task, hold, how, rules);
        }
    }
    let stuck = |task: &usize| {
        let state = &end.tasks[*task];
        state.wait.is_some() && !state.holds.is_empty()
    };
    (0..end.tasks.len()).filter(stuck).collect()
}

/// Whether `task` waits forever in a cycle: it waits for tasks that wait for it, directly or not.
#[must_use]
pub fn is_in_a_cycle(world: &World, task: usize, rules: &Rules) -> bool {
    let stuck = stuck_tasks(world, rules);
    let blockers = |waiting: usize| {
        let name = world.tasks[waiting].wait.map(|wait| wait.name);
        let holds = move |other: &usize| {
            let mut holds = world.tasks[*other].holds.iter();
            holds.any(|hold| Some(hold.name) == name)
        };
        stuck.iter().copied().filter(holds).collect::<Vec<usize>>()
    };
    if !stuck.contains(&task) {
        return false;
    }
    let mut reached = blockers(task);
    let mut at = 0;
    while let Some(next) = reached.get(at).copied() {
        for other in blockers(next) {
            if !reached.contains(&other) {
                reached.push(other);
            }
        }
        at += 1;
    }
    reached.contains(&task)
}
