//! [`World`]: clients with one call each, and the names that the calls take.

use std::fmt;

use auto_mutex_protocol::client::{Patience, Slot, Together, TogetherEffect, TogetherInput};

use super::Rules;
use crate::name::world::{self, Member, is_of_call};

/// One state of everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// The names, in their order.
    pub names: Vec<world::World>,
    /// The clients.
    pub clients: Vec<Client>,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// Its call.
    pub call: Option<Together>,
    /// The call has all names, as far as it knows.
    pub inside: bool,
    /// How many calls are still to come.
    pub to_come: u8,
    /// A call went inside without all names.
    pub entered_without: bool,
    /// A call has failed.
    pub failed: bool,
}

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// A client calls.
    Call(u8),
    /// A call ends.
    End(u8),
    /// Something happens at a name.
    At(u8, world::Action),
}

impl World {
    /// Nobody has called yet.
    pub fn new(rules: &Rules) -> Self {
        let client = Client {
            call: None,
            inside: false,
            to_come: rules.calls,
            entered_without: false,
            failed: false,
        };
        Self {
            names: vec![world::World::new(&rules.name); rules.names],
            clients: vec![client; rules.name.clients.into()],
        }
    }

    /// Collects what can happen now.
    pub fn enabled(&self, rules: &Rules, actions: &mut Vec<Action>) {
        for (me, client) in (0..).zip(&self.clients) {
            match &client.call {
                None => actions.extend((client.to_come > 0).then_some(Action::Call(me))),
                Some(_) => actions.extend(client.inside.then_some(Action::End(me))),
            }
        }
        let mut of_name = Vec::new();
        for (name, world) in (0..).zip(&self.names) {
            world.enabled(&rules.name, &mut of_name);
            let happens = of_name.drain(..).filter(|action| !is_of_call(*action));
            actions.extend(happens.map(|action| Action::At(name, action)));
        }
    }

    /// Does it.
    pub fn happen(&mut self, action: Action, rules: &Rules) {
        match action {
            Action::Call(me) => {
                let client = &mut self.clients[usize::from(me)];
                client.to_come -= 1;
                let names = (0..rules.names).map(|_| false);
                let now = self.names[0].members[usize::from(me)].now;
                client.call = Some(Together::new(names, rules.patience, now));
                self.feed(me, TogetherInput::Begin, rules);
            }
            Action::End(me) => {
                for name in 0..rules.names {
                    self.names[name].give_back(me, &rules.name);
                }
                let client = &mut self.clients[usize::from(me)];
                (client.call, client.inside) = (None, false);
            }
            Action::At(name, action) => {
                self.names[usize::from(name)].happen(action, &rules.name);
                for me in 0..rules.name.clients {
                    if let Some(input) = self.answer(me) {
                        self.feed(me, input, rules);
                    }
                }
            }
        }
    }

    /// Time passes.
    pub(super) fn tick(&mut self, rules: &Rules) {
        for name in &mut self.names {
            name.happen(world::Action::Tick(0), &rules.name);
        }
    }

    /// Brings the world into its canonical form.
    pub fn canonical(&mut self, rules: &Rules) {
        for name in &mut self.names {
            name.canonical(&rules.name);
        }
    }

    /// What a client has of a name.
    pub fn member(&self, name: usize, me: usize) -> &Member {
        &self.names[name].members[me]
    }

    /// Does what the rules of the call ask for.
    fn feed(&mut self, me: u8, input: TogetherInput, rules: &Rules) {
        let (mut next, mut effects) = (Some(input), Vec::new());
        while let Some(input) = next.take() {
            let now = self.names[0].members[usize::from(me)].now;
            let client = &mut self.clients[usize::from(me)];
            let Some(call) = &mut client.call else {
                return;
            };
            call.on(input, now, &mut effects);
            let mut over = false;
            for effect in effects.drain(..) {
                match effect {
                    TogetherEffect::Enter(name, patience) => {
                        self.names[name].enter(me, patience, &rules.name);
                    }
                    TogetherEffect::GiveBack(name) => self.names[name].give_back(me, &rules.name),
                    // Nothing waits for the store's answer, which may thus come at any time.
                    TogetherEffect::Confirm | TogetherEffect::Hold(_) => {}
                    TogetherEffect::Look => {
                        let lost = (0..rules.names).find(|name| !self.has(*name, me));
                        next = Some(TogetherInput::Looked { lost });
                    }
                    TogetherEffect::Done => {
                        let without = (0..rules.names).any(|name| !self.has(name, me));
                        let client = &mut self.clients[usize::from(me)];
                        client.inside = true;
                        client.entered_without |= without;
                    }
                    TogetherEffect::Failed => over = true,
                }
            }
            if over {
                let client = &mut self.clients[usize::from(me)];
                client.call = None;
                client.failed |= rules.patience == Patience::Queue(None);
                return;
            }
            next = next.or_else(|| self.answer(me));
        }
    }

    fn has(&self, name: usize, me: u8) -> bool {
        !self.member(name, me.into()).guards.is_empty()
    }

    /// What has become of the first name that the call has asked for.
    fn answer(&self, me: u8) -> Option<TogetherInput> {
        let slots = self.clients[usize::from(me)].call.as_ref()?.slots();
        let asked = slots.iter().position(|slot| *slot == Slot::Asked)?;
        let state = &self.member(asked, me.into()).state;
        if self.has(asked, me) {
            return Some(TogetherInput::Obtained(asked, 1));
        }
        let waits = state.waiters().chain(state.attempts()).next().is_some();
        (!waits).then_some(TogetherInput::Busy(asked))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = |me: &u8| char::from(b'A' + me);
        match self {
            Self::Call(me) => write!(f, "{} calls", client(me)),
            Self::End(me) => write!(f, "{}'s call ends", client(me)),
            Self::At(name, action) => write!(f, "{action} (name {name})"),
        }
    }
}
