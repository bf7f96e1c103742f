//! What tasks do in the store, and what the store does for them.

use auto_mutex_protocol::{
    Env, Lease, Message, Mode, NameRecord, Op, Reply, Share, SharedStr, Ticket,
};

use core::time::Duration;

use super::rules::{LEASE, PARK, Setup};
use super::world::{End, Hold, SEARCHER, Task, Wait, World, id, number};

impl World {
    pub(super) fn lock(&mut self, task: u8, (name, units): (u8, u32), rules: &Setup) {
        self.last[1] += 1;
        let id = Ticket::of_public(self.last[1]);
        let task_now = self.task_mut(task);
        task_now.wait = Some(Wait { id, name, units });
        let is_nested = !task_now.holds.is_empty();
        self.waiting[usize::from(name)].push(task);
        self.queue(rules.member(task), name, rules);
        if is_nested && rules.member(task) == SEARCHER && self.task(task).wait.is_some() {
            self.begin_wait(id, rules);
        }
    }

    /// Makes the ticket of the member wait for the first of its tasks that wait. If none does, the ticket leaves the
    /// queue.
    pub(super) fn queue(&mut self, member: u8, name: u8, rules: &Setup) {
        let wait = self.first_waiting(member, name, rules);
        let units = wait.and_then(|task| Some(self.task(task).wait?.units));
        let record = self.record(name, rules);
        let mut waiters = record.waiters.iter();
        let waits = waiters.find(|record| number(record.member) == member);
        match (waits.map(|record| record.ticket), units) {
            (Some(ticket), None) => self.leave(name, ticket, Duration::ZERO, rules),
            (None, Some(units)) => {
                self.last[0] += 1;
                let ticket = Ticket::of_public(self.last[0]);
                let op = Op::Acquire {
                    lease: Lease::of(ticket, 1, LEASE),
                    share: Share::of(units, rules.capacity(name)),
                    mode: Mode::Queue,
                    meta: SharedStr::EMPTY,
                };
                if let Reply::Granted { token, .. } = self.run(name, member, &op, rules) {
                    self.granted(name, member, (ticket, token), rules);
                }
            }
            _ => {}
        }
    }

    /// The first task of the member that waits for the name.
    pub(super) fn first_waiting(&self, member: u8, name: u8, rules: &Setup) -> Option<u8> {
        let mut waiting = self.waiting[usize::from(name)].iter().copied();
        waiting.find(|task| rules.member(*task) == member)
    }

    /// The state of a name, as the store knows it.
    pub(super) fn record(&self, name: u8, rules: &Setup) -> NameRecord {
        self.names[usize::from(name)].inspect(self.now, 0, &rules.limits)
    }

    fn run(&mut self, name: u8, member: u8, op: &Op, rules: &Setup) -> Reply {
        self.now += 1;
        let mut messages = Vec::new();
        let env = Env {
            now: self.now,
            grants_from: 0,
            member: id(member),
            limits: &rules.limits,
            // The store does not know who is dead.
            hears: &|_| true,
        };
        let reply = self.names[usize::from(name)].on(op, &env, &mut messages);
        for (to, message) in messages {
            if let Message::Grant { ticket, token, .. } = message {
                self.claim(name, number(to), ticket, rules);
                self.granted(name, number(to), (ticket, token), rules);
            }
        }
        reply
    }

    fn claim(&mut self, name: u8, member: u8, ticket: Ticket, rules: &Setup) {
        let lease = Lease::of(ticket, 2, LEASE);
        self.run(name, member, &Op::Touch { lease, units: 0 }, rules);
    }

    fn granted(&mut self, name: u8, member: u8, grant: (Ticket, u64), rules: &Setup) {
        let (ticket, token) = grant;
        if let Some(task) = self.first_waiting(member, name, rules) {
            let token = token * auto_mutex_protocol::TOKENS_OF_A_GRANT;
            self.give(task, ticket, token);
            self.queue(member, name, rules);
        }
    }

    /// The task gets the hold that it waits for.
    fn give(&mut self, task: u8, ticket: Ticket, token: u64) {
        if let Some(Wait { name, units, .. }) = self.end_wait(task) {
            self.task_mut(task).holds.push(Hold {
                name,
                ticket,
                token,
                units,
                ended: false,
            });
        }
    }

    pub(super) fn end_wait(&mut self, task: u8) -> Option<Wait> {
        let task_now = self.task_mut(task);
        task_now.holds.retain(|hold| !hold.ended);
        let wait = task_now.wait.take()?;
        self.waiting[usize::from(wait.name)].retain(|other| *other != task);
        Some(wait)
    }

    pub(super) fn end_hold(&mut self, task: u8, hold: &Hold, end: End, rules: &Setup) {
        match end {
            End::Release => self.leave(hold.name, hold.ticket, Duration::ZERO, rules),
            End::Park => self.leave(hold.name, hold.ticket, PARK, rules),
            End::Handoff => {
                if let Some(next) = self.next_of_member(task, hold, rules) {
                    self.give(next, hold.ticket, hold.token + 1);
                    self.queue(rules.member(next), hold.name, rules);
                }
            }
        }
    }

    pub(super) fn may_hand_off(&self, task: u8, hold: &Hold, rules: &Setup) -> bool {
        rules.handoff && self.next_of_member(task, hold, rules).is_some()
    }

    /// The task of the same member to which the hold can be handed off. Only a ticket with all units can be.
    fn next_of_member(&self, task: u8, hold: &Hold, rules: &Setup) -> Option<u8> {
        let next = self.first_waiting(rules.member(task), hold.name, rules)?;
        let units = self.task(next).wait?.units;
        let fits = hold.units == units && units == rules.capacity(hold.name);
        (next != task && fits).then_some(next)
    }

    fn leave(&mut self, name: u8, ticket: Ticket, park: Duration, rules: &Setup) {
        let op = Op::Release {
            ticket,
            park,
            tomb: false,
            used: 0,
        };
        self.run(name, SEARCHER, &op, rules);
    }

    pub(super) fn unpark(&mut self, name: u8, rules: &Setup) {
        self.now += PARK.as_micros() as u64;
        // A touch of no ticket.
        self.claim(name, SEARCHER, Ticket::of_public(0), rules);
    }

    pub(super) fn die(&mut self, member: u8, rules: &Setup) {
        self.deaths += 1;
        for task in 0..self.tasks.len() as u8 {
            if rules.member(task) == member {
                self.end_wait(task);
                *self.task_mut(task) = Task {
                    dead: true,
                    ..Task::default()
                };
            }
        }
    }

    /// The leases and places of dead members end.
    pub(super) fn expire(&mut self, name: u8, rules: &Setup) {
        let record = self.record(name, rules);
        // The waiters first: a grant to one of them would last.
        for ticket in record.waiters.iter().chain(&record.holders) {
            if self.is_dead(number(ticket.member), rules) {
                self.leave(name, ticket.ticket, Duration::ZERO, rules);
            }
        }
    }
}
