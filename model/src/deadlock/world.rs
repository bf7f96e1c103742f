//! The state of the model: tasks and the store, and the possible steps.

use std::fmt;

use super::Id;
use super::rules::{Rules, Safeguard};
use super::search::Search;

/// A ticket in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The ticket's number, which is never used again.
    pub ticket: Id,
    /// The member that the ticket belongs to.
    pub member: u8,
    /// The units of the capacity that the ticket asks for.
    pub units: u8,
    /// No task holds the ticket any more, and it ends by itself.
    pub parked: bool,
}

/// The state of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lock {
    /// The tickets that hold, in the store.
    pub holders: Vec<Record>,
    /// The tickets that wait, in the order of the store's queue.
    pub waiters: Vec<Record>,
    /// The waiting tasks, in order of arrival. Each member has at most one ticket in the queue, which serves all its
    /// tasks.
    pub asking: Vec<usize>,
}

/// A hold of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hold {
    /// The name that is held.
    pub name: usize,
    /// The ticket in the store. Another task may have held it before.
    pub ticket: Id,
    /// The fencing token, which grows with each grant and handoff.
    pub token: Id,
    /// The units that are held.
    pub units: u8,
}

/// The wait of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wait {
    /// The wait's number, which is never used again.
    pub id: Id,
    /// The name that the task waits for.
    pub name: usize,
    /// The units that the task asks for.
    pub units: u8,
}

/// A task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Task {
    /// The task's holds, in the order of their grants.
    pub holds: Vec<Hold>,
    /// The wait of the task, if it waits. A task that waits does nothing else.
    pub wait: Option<Wait>,
    /// Holds that the task had when its wait began and has lost since. (Recorded only in runs without the rule
    /// `HeldNow`.)
    pub lost: Vec<Hold>,
    /// The task's member has died.
    pub dead: bool,
}

/// How a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The ticket leaves the store.
    Release,
    /// Another task of the member gets the ticket.
    Handoff,
    /// The ticket stays in the store for a time.
    Park,
}

/// One step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A task asks for units of a name.
    Lock(usize, usize, u8),
    /// A task releases the last lock that it took.
    Release(usize, End),
    /// A task that waits loses the hold with this index.
    Lose(usize, usize, End),
    /// A task gives up waiting.
    Cancel(usize),
    /// A parked ticket of a name ends. The second number is its index among the holders.
    Unpark(usize, usize),
    /// A member dies.
    Die(u8),
    /// The tickets of dead members at a name end.
    Expire(usize),
    /// The first task starts a search.
    Begin,
    /// The store answers the search about a name.
    Inspect(usize),
    /// A member answers the search about a ticket. If `true`, a copy of the answer is still in flight.
    Ask(Id, bool),
    /// The copy of an answer arrives.
    Copy,
    /// The round ends after it has found a deadlock.
    EndRound,
}

/// The whole state of the model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The locks, with their waiters.
    pub locks: Vec<Lock>,
    /// All tasks.
    pub tasks: Vec<Task>,
    /// The number of members that have died.
    pub deaths: u8,
    /// The search of the first task.
    pub search: Search,
    /// The highest numbers used so far: of tickets, tokens and waits.
    pub last: [Id; 3],
}

impl World {
    /// Returns a world in which no task holds anything.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self {
            locks: vec![Lock::default(); rules.capacities.len()],
            tasks: vec![Task::default(); rules.members.len()],
            deaths: 0,
            search: Search::Idle,
            last: [0; 3],
        }
    }

    fn number(&mut self, kind: usize) -> Id {
        self.last[kind] += 1;
        self.last[kind]
    }

    /// Collects the steps that are possible now.
    pub fn enabled(&self, rules: &Rules, actions: &mut Vec<Action>) {
        if let Search::Over(_) = self.search {
            return;
        }
        for (task, state) in self.tasks.iter().enumerate() {
            if state.dead {
                continue;
            }
            if state.wait.is_none() {
                self.enabled_running(task, rules, actions);
                continue;
            }
            if rules.cancels {
                actions.push(Action::Cancel(task));
            }
            if rules.losses {
                for (place, hold) in state.holds.iter().enumerate() {
                    self.ends(task, hold, rules, |end| {
                        actions.push(Action::Lose(task, place, end));
                    });
                }
            }
        }
        for (name, lock) in self.locks.iter().enumerate() {
            let parked = lock.holders.iter().position(|record| record.parked);
            actions.extend(parked.map(|place| Action::Unpark(name, place)));
            let mut records = lock.holders.iter().chain(&lock.waiters);
            if self.deaths > 0 && records.any(|record| self.is_dead(record.member, rules)) {
                actions.push(Action::Expire(name));
            }
        }
        if self.deaths < rules.deaths {
            // The searching member never dies here, which would only end the search without a report.
            let alive = |task: &usize| !self.tasks[*task].dead && rules.member(*task) != 0;
            let mut members: Vec<u8> = (0..self.tasks.len())
                .filter(alive)
                .map(|task| rules.member(task))
                .collect();
            members.dedup();
            actions.extend(members.into_iter().map(Action::Die));
        }
        self.enabled_searching(rules, actions);
    }

    fn enabled_running(&self, task: usize, rules: &Rules, actions: &mut Vec<Action>) {
        let holds = &self.tasks[task].holds;
        if holds.len() < rules.depth {
            for (name, capacity) in rules.capacities.iter().enumerate() {
                if holds.iter().any(|hold| hold.name == name) {
                    continue;
                }
                actions.push(Action::Lock(task, name, 1));
                if rules.writers && *capacity > 1 {
                    actions.push(Action::Lock(task, name, *capacity));
                }
            }
        }
        if let Some(hold) = holds.last() {
            self.ends(task, hold, rules, |end| {
                actions.push(Action::Release(task, end));
            });
        }
    }

    fn ends(&self, task: usize, hold: &Hold, rules: &Rules, mut add: impl FnMut(End)) {
        add(End::Release);
        if rules.parks {
            add(End::Park);
        }
        if rules.handoff && self.can_hand_on(task, hold, rules) {
            add(End::Handoff);
        }
    }

    pub(super) fn can_hand_on(&self, task: usize, hold: &Hold, rules: &Rules) -> bool {
        self.next_of_member(task, hold, rules).is_some()
    }

    /// The task of the same member to which `hold` can be handed off. Only a ticket with all units can be.
    fn next_of_member(&self, task: usize, hold: &Hold, rules: &Rules) -> Option<usize> {
        if hold.units < rules.capacities[hold.name] {
            return None;
        }
        let next = self.first_asking(rules.member(task), hold.name, rules)?;
        let fits = |wait: Wait| wait.units == hold.units;
        (next != task && self.tasks[next].wait.is_some_and(fits)).then_some(next)
    }

    fn first_asking(&self, member: u8, name: usize, rules: &Rules) -> Option<usize> {
        let mut asking = self.locks[name].asking.iter().copied();
        asking.find(|task| rules.member(*task) == member)
    }

    /// Returns whether the member has died.
    #[must_use]
    pub fn is_dead(&self, member: u8, rules: &Rules) -> bool {
        let mut tasks = self.tasks.iter().zip(rules.members);
        tasks.any(|(task, of)| *of == member && task.dead)
    }

    /// Carries out one step.
    pub fn happen(&mut self, action: Action, rules: &Rules) {
        match action {
            Action::Lock(task, name, units) => self.lock(task, name, units, rules),
            Action::Release(task, end) => {
                if let Some(hold) = self.tasks[task].holds.pop() {
                    self.end_hold(task, hold, end, rules);
                }
            }
            Action::Lose(task, place, end) => {
                let hold = self.tasks[task].holds.remove(place);
                if !rules.keeps(Safeguard::HeldNow) {
                    self.tasks[task].lost.push(hold);
                }
                self.end_hold(task, hold, end, rules);
            }
            Action::Cancel(task) => {
                if let Some(wait) = self.end_wait(task) {
                    self.serve_others(rules.member(task), wait.name, rules);
                    self.grant(wait.name, rules);
                }
            }
            Action::Unpark(name, place) => {
                self.locks[name].holders.remove(place);
                self.grant(name, rules);
            }
            Action::Die(member) => {
                self.deaths += 1;
                for task in 0..self.tasks.len() {
                    if rules.member(task) == member {
                        self.end_wait(task);
                        self.tasks[task] = Task {
                            dead: true,
                            ..Task::default()
                        };
                    }
                }
            }
            Action::Expire(name) => self.expire(name, rules),
            Action::Begin
            | Action::Inspect(_)
            | Action::Ask(..)
            | Action::Copy
            | Action::EndRound => self.search_on(action, rules),
        }
        self.watch_search(rules);
    }

    fn lock(&mut self, task: usize, name: usize, units: u8, rules: &Rules) {
        let id = self.number(2);
        self.tasks[task].wait = Some(Wait { id, name, units });
        self.locks[name].asking.push(task);
        self.serve_others(rules.member(task), name, rules);
        self.grant(name, rules);
    }

    /// Makes the member's ticket serve the first of its waiting tasks. If no task waits, the ticket leaves the queue.
    fn serve_others(&mut self, member: u8, name: usize, rules: &Rules) {
        let first = self.first_asking(member, name, rules);
        let units = first.and_then(|task| self.tasks[task].wait.map(|wait| wait.units));
        let waiters = &self.locks[name].waiters;
        let place = waiters.iter().position(|record| record.member == member);
        match (place, units) {
            (Some(place), Some(units)) => self.locks[name].waiters[place].units = units,
            (Some(place), None) => {
                self.locks[name].waiters.remove(place);
            }
            (None, Some(units)) => {
                let record = Record {
                    ticket: self.number(0),
                    member,
                    units,
                    parked: false,
                };
                self.locks[name].waiters.push(record);
            }
            (None, None) => {}
        }
    }

    /// Grants to the waiters in the order of the queue while there is room.
    pub(super) fn grant(&mut self, name: usize, rules: &Rules) {
        while let Some(record) = self.locks[name].waiters.first().copied() {
            let lock = &mut self.locks[name];
            let used: u8 = lock.holders.iter().map(|holder| holder.units).sum();
            if used + record.units > rules.capacities[name] {
                return;
            }
            lock.waiters.remove(0);
            lock.holders.push(record);
            if let Some(task) = self.first_asking(record.member, name, rules) {
                self.give(task, record.ticket);
                self.serve_others(record.member, name, rules);
            }
        }
    }

    /// `task` gets the hold that it waits for.
    fn give(&mut self, task: usize, ticket: Id) {
        let token = self.number(1);
        if let Some(Wait { name, units, .. }) = self.end_wait(task) {
            self.tasks[task].holds.push(Hold {
                name,
                ticket,
                token,
                units,
            });
        }
    }

    fn end_wait(&mut self, task: usize) -> Option<Wait> {
        self.tasks[task].lost.clear();
        let wait = self.tasks[task].wait.take()?;
        self.locks[wait.name].asking.retain(|other| *other != task);
        Some(wait)
    }

    pub(super) fn end_hold(&mut self, task: usize, hold: Hold, end: End, rules: &Rules) {
        let holders = &mut self.locks[hold.name].holders;
        match end {
            End::Release => holders.retain(|record| record.ticket != hold.ticket),
            End::Park => {
                let parked = holders
                    .iter_mut()
                    .find(|record| record.ticket == hold.ticket);
                if let Some(record) = parked {
                    record.parked = true;
                }
            }
            End::Handoff => {
                if let Some(next) = self.next_of_member(task, &hold, rules) {
                    self.give(next, hold.ticket);
                    self.serve_others(rules.member(next), hold.name, rules);
                }
            }
        }
        self.grant(hold.name, rules);
    }

    pub(super) fn expire(&mut self, name: usize, rules: &Rules) {
        let dead: Vec<u8> = (0..self.tasks.len())
            .filter(|task| self.tasks[*task].dead)
            .map(|task| rules.member(task))
            .collect();
        let lock = &mut self.locks[name];
        lock.holders.retain(|record| !dead.contains(&record.member));
        lock.waiters.retain(|record| !dead.contains(&record.member));
        self.grant(name, rules);
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let task = |task: &usize| format!("t{task}");
        let of = |name: &usize| char::from(b'A' + u8::try_from(*name).unwrap_or(25));
        let how = |end: &End| match end {
            End::Release => "",
            End::Handoff => ", handed on",
            End::Park => ", parked",
        };
        match self {
            Self::Lock(who, name, 1) => write!(f, "{} locks {}", task(who), of(name)),
            Self::Lock(who, name, units) => {
                write!(f, "{} locks {units} of {}", task(who), of(name))
            }
            Self::Release(who, end) => write!(f, "{} releases{}", task(who), how(end)),
            Self::Lose(who, place, end) => {
                write!(f, "{} loses hold {}{}", task(who), place + 1, how(end))
            }
            Self::Cancel(who) => write!(f, "{} gives up", task(who)),
            Self::Unpark(name, _) => write!(f, "the parked ticket of {} ends", of(name)),
            Self::Die(member) => write!(f, "member {member} dies"),
            Self::Expire(name) => write!(f, "the dead member's tickets of {} end", of(name)),
            Self::Begin => write!(f, "t0 searches"),
            Self::Inspect(name) => write!(f, "inspects {}", of(name)),
            Self::Ask(ticket, copy) => {
                let copy = if *copy { ", the answer is copied" } else { "" };
                write!(f, "asks about ticket {ticket}{copy}")
            }
            Self::Copy => write!(f, "the copy arrives"),
            Self::EndRound => write!(f, "the round ends"),
        }
    }
}
