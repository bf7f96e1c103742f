//! [`World`]: clients that wait for things, clients that make them, and the two names.

use auto_mutex_protocol::client::{AskId, Input, Patience};
use auto_mutex_protocol::{Op, Signal};

use super::Rules;
use crate::name::world::{self, is_of_call, ticket};

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The mutex.
    pub mutex: world::World,
    /// The name at which calls wait for signals.
    pub signals: world::World,
    /// What each client does: first those that take things.
    pub clients: Vec<Stage>,
    /// How many things there are.
    pub things: u8,
    /// How many calls may still give up.
    pub cancels: u8,
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Nothing yet.
    Outside,
    /// It asks for the mutex.
    Entering,
    /// It has the mutex, and a place for signals is asked for.
    Registering,
    /// It waits for a signal, without the mutex.
    Waiting,
    /// It was notified, and asks for the mutex again.
    Returning,
    /// It has done what it came for, or has given up.
    Over,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A client calls.
    Call(u8),
    /// A call gives up.
    Cancel(u8),
    /// Something happens at the mutex.
    Mutex(world::Action),
    /// Something happens at the name of the signals.
    Signals(world::Action),
}

impl World {
    /// Nobody has called yet.
    pub fn new(rules: &Rules) -> Self {
        Self {
            mutex: world::World::new(&rules.mutex),
            signals: world::World::new(&rules.signals),
            clients: vec![Stage::Outside; (rules.takers + rules.makers).into()],
            things: 0,
            cancels: rules.cancels,
        }
    }

    /// Collects what can happen now.
    pub fn enabled(&self, rules: &Rules, actions: &mut Vec<Action>) {
        for (me, stage) in (0..).zip(&self.clients) {
            match stage {
                Stage::Outside => actions.push(Action::Call(me)),
                Stage::Over => {}
                _ => actions.extend((self.cancels > 0).then_some(Action::Cancel(me))),
            }
        }
        let mut of_name = Vec::new();
        self.mutex.enabled(&rules.mutex, &mut of_name);
        let happens = of_name.drain(..).filter(|action| !is_of_call(*action));
        actions.extend(happens.map(Action::Mutex));
        self.signals.enabled(&rules.signals, &mut of_name);
        let happens = of_name.drain(..).filter(|action| !is_of_call(*action));
        actions.extend(happens.map(Action::Signals));
    }

    /// Does it.
    pub fn happen(&mut self, action: Action, rules: &Rules) {
        match action {
            Action::Call(me) => self.enter(me, Stage::Entering, rules),
            Action::Cancel(me) => {
                self.cancels -= 1;
                // Whoever was notified has not used it.
                match self.signals.members[usize::from(me)].guards.is_empty() {
                    true => self.signals.give_back(me, &rules.signals),
                    false => self
                        .signals
                        .happen(world::Action::Return(me, 0), &rules.signals),
                }
                self.end(me, rules);
            }
            Action::Mutex(action) => self.mutex.happen(action, &rules.mutex),
            Action::Signals(action) => self.signals.happen(action, &rules.signals),
        }
        for me in 0..rules.takers + rules.makers {
            self.go_on(me, rules);
        }
    }

    /// Brings the world into its canonical form.
    pub fn canonical(&mut self, rules: &Rules) {
        self.mutex.canonical(&rules.mutex);
        self.signals.canonical(&rules.signals);
    }

    fn enter(&mut self, me: u8, stage: Stage, rules: &Rules) {
        self.clients[usize::from(me)] = stage;
        self.mutex.enter(me, Patience::Queue(None), &rules.mutex);
    }

    fn end(&mut self, me: u8, rules: &Rules) {
        self.clients[usize::from(me)] = Stage::Over;
        self.mutex.give_back(me, &rules.mutex);
    }

    /// Takes the next step of a call that has what it was waiting for.
    fn go_on(&mut self, me: u8, rules: &Rules) {
        let index = usize::from(me);
        let has_mutex = !self.mutex.members[index].guards.is_empty();
        let waiter = &self.signals.members[index];
        match self.clients[index] {
            Stage::Entering if has_mutex && me >= rules.takers => {
                self.things += 1;
                let (ticket, signal) = (ticket(me, 1), Signal::One);
                let (ask, op) = (AskId(1), Op::Signal { ticket, signal });
                self.signals
                    .input(me, Input::Ask { ask, op }, &rules.signals);
                self.end(me, rules);
            }
            Stage::Entering if has_mutex => self.look(me, rules),
            Stage::Registering if waiter.registered => {
                self.clients[index] = Stage::Waiting;
                self.mutex.give_back(me, &rules.mutex);
            }
            Stage::Waiting if waiter.state.waiters().next().is_none() => {
                self.enter(me, Stage::Returning, rules);
            }
            Stage::Returning if has_mutex => {
                // Only now the notification is used.
                self.signals.give_back(me, &rules.signals);
                self.look(me, rules);
            }
            _ => {}
        }
    }

    /// A call that has the mutex takes a thing, or waits for one.
    fn look(&mut self, me: u8, rules: &Rules) {
        match self.things.checked_sub(1) {
            Some(left) => {
                self.things = left;
                self.end(me, rules);
            }
            None => {
                self.clients[usize::from(me)] = Stage::Registering;
                self.signals
                    .enter(me, Patience::Queue(None), &rules.signals);
            }
        }
    }
}
