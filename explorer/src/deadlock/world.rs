//! [`World`]: tasks, the names in the store, and the search of one client at one instant, and what can happen next.

use auto_mutex_protocol::deadlock::{Answer, Effect, Searches, WaitId};
use auto_mutex_protocol::{MemberId, State, Ticket};

pub use super::action::{Action, End};
use super::rules::Setup;
use super::search::Past;

/// The member whose tasks search.
pub(super) const SEARCHER: u8 = 0;

/// The present of the store, in microseconds.
pub(super) const PRESENT: u64 = 1 << 32;

/// A hold of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The name that is held.
    pub name: u8,
    /// The ticket in the store. Another task may have held it before.
    pub ticket: Ticket,
    /// The fencing token, which grows with each grant and handoff.
    pub token: u64,
    /// The units that are held.
    pub units: u32,
    /// The task had it when its wait began, and has lost it since.
    pub ended: bool,
}

/// The wait of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wait {
    /// The id of the wait, which is never used again.
    pub id: WaitId,
    /// The name that the task waits for.
    pub name: u8,
    /// The units that the task asks for.
    pub units: u32,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Task {
    /// The task's holds, in the order of their grants.
    pub holds: Vec<Hold>,
    /// The wait of the task, if it waits. A task that waits does nothing else.
    pub wait: Option<Wait>,
    /// The task's member has died.
    pub dead: bool,
}

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The names, in the store.
    pub names: Vec<State>,
    /// All tasks.
    pub tasks: Vec<Task>,
    /// For each name, the tasks that wait, in the order in which they came.
    pub waiting: Vec<Vec<u8>>,
    /// How many members have died.
    pub deaths: u8,
    /// The searches of the first member.
    pub searches: Searches<u8>,
    /// The questions of the search that are not answered yet.
    pub questions: Vec<Effect<u8>>,
    /// A copy of an answer of the first pass that is still in flight.
    pub copy: Option<Answer<u8>>,
    /// Facts about the past that the properties need.
    pub past: Past,
    /// The store's time, in microseconds. It decides only the order of tokens.
    pub(super) now: u64,
    /// The numbers of the last ticket and the last wait.
    pub(super) last: [u64; 2],
}

impl Task {
    /// The holds that have not ended.
    pub fn held(&self) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(|hold| !hold.ended)
    }
}

impl World {
    /// No task holds anything.
    pub fn new(rules: &Setup) -> Self {
        Self {
            names: vec![State::default(); rules.capacities.len()],
            tasks: vec![Task::default(); rules.members.len()],
            waiting: vec![Vec::new(); rules.capacities.len()],
            deaths: 0,
            searches: Searches::new(1),
            questions: Vec::new(),
            copy: None,
            past: Past::default(),
            now: PRESENT,
            last: [0; 2],
        }
    }

    /// Collects what can happen now.
    pub fn enabled(&self, rules: &Setup, actions: &mut Vec<Action>) {
        if self.past.verdict.is_some() {
            return;
        }
        for (task, state) in self.tasks.iter().enumerate() {
            match state.wait {
                _ if state.dead => {}
                Some(_) => self.enabled_waiting(task as u8, rules, actions),
                None => self.enabled_running(task as u8, rules, actions),
            }
        }
        for name in rules.names() {
            let record = self.record(name, rules);
            let parked = record.holders.iter().any(|holder| holder.parked);
            actions.extend(parked.then_some(Action::Unpark(name)));
            let mut records = record.holders.iter().chain(&record.waiters);
            if records.any(|record| self.is_dead(number(record.member), rules)) {
                actions.push(Action::Expire(name));
            }
        }
        if self.deaths < rules.deaths {
            // The death of the one that searches would only end the search without a report.
            let mut members: Vec<_> = rules.members.to_vec();
            members.retain(|member| *member != SEARCHER && !self.is_dead(*member, rules));
            members.dedup();
            actions.extend(members.into_iter().map(Action::Die));
        }
        self.enabled_searching(rules, actions);
    }

    fn enabled_running(&self, task: u8, rules: &Setup, actions: &mut Vec<Action>) {
        let holds = &self.task(task).holds;
        let is_still = rules.still && self.searches.pass().is_some();
        if holds.len() < rules.depth && !is_still {
            for name in rules.names() {
                if holds.iter().any(|hold| hold.name == name) {
                    continue;
                }
                actions.push(Action::Lock(task, name, 1));
                if rules.writers && rules.capacity(name) > 1 {
                    actions.push(Action::Lock(task, name, rules.capacity(name)));
                }
            }
        }
        if let Some(hold) = holds.last() {
            self.ends(task, hold, rules, |end| {
                actions.push(Action::Release(task, end));
            });
        }
    }

    fn enabled_waiting(&self, task: u8, rules: &Setup, actions: &mut Vec<Action>) {
        if rules.cancels {
            actions.push(Action::Cancel(task));
        }
        if rules.losses {
            for (place, hold) in self.task(task).holds.iter().enumerate() {
                if !hold.ended {
                    self.ends(task, hold, rules, |end| {
                        actions.push(Action::Lose(task, place as u8, end));
                    });
                }
            }
        }
    }

    fn ends(&self, task: u8, hold: &Hold, rules: &Setup, mut add: impl FnMut(End)) {
        add(End::Release);
        if rules.parks {
            add(End::Park);
        }
        if self.may_hand_off(task, hold, rules) {
            add(End::Handoff);
        }
    }

    /// Does it.
    pub fn happen(&mut self, action: Action, rules: &Setup) {
        match action {
            Action::Lock(task, name, units) => self.lock(task, (name, units), rules),
            Action::Release(task, end) => {
                if let Some(hold) = self.task_mut(task).holds.pop() {
                    self.end_hold(task, &hold, end, rules);
                }
            }
            Action::Lose(task, place, end) => {
                let hold = &mut self.task_mut(task).holds[usize::from(place)];
                hold.ended = true;
                let hold = hold.clone();
                self.end_hold(task, &hold, end, rules);
            }
            Action::Cancel(task) => {
                if let Some(wait) = self.end_wait(task) {
                    self.queue(rules.member(task), wait.name, rules);
                }
            }
            Action::Unpark(name) => self.unpark(name, rules),
            Action::Die(member) => self.die(member, rules),
            Action::Expire(name) => self.expire(name, rules),
            _ => self.search_on(action, rules),
        }
    }

    pub(super) fn task(&self, task: u8) -> &Task {
        &self.tasks[usize::from(task)]
    }

    pub(super) fn task_mut(&mut self, task: u8) -> &mut Task {
        &mut self.tasks[usize::from(task)]
    }

    /// Whether the member has died.
    pub fn is_dead(&self, member: u8, rules: &Setup) -> bool {
        let mut tasks = self.tasks.iter().zip(rules.members);
        tasks.any(|(task, of)| *of == member && task.dead)
    }
}

/// The id of a member.
pub(super) fn id(member: u8) -> MemberId {
    MemberId::from_bytes([member; 16])
}

/// The member with this id.
pub(super) fn number(id: MemberId) -> u8 {
    id.as_bytes()[0]
}
