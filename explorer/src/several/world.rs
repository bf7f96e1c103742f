//! [`World`]: clients with one call each, and the names that the calls take.

use auto_mutex_protocol::client::{
    Failure, Patience, Slot, Together, TogetherEffect, TogetherInput,
};

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
    /// It has asked to wait.
    pub waited: bool,
    /// A call has failed although it might have waited or tried again.
    pub failed: bool,
    /// What the task of a call had before it was given back by the call.
    pub took_away: bool,
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
            waited: false,
            failed: false,
            took_away: false,
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
                None if self.waits(self.own(me), me) => {}
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
                let own = self.own(me);
                if rules.nested && !self.has(own, me) {
                    return self.names[own].enter(me, Patience::Queue(None), &rules.name);
                }
                let names: Vec<_> = (0..rules.names).map(|name| self.has(name, me)).collect();
                let now = self.names[0].members[usize::from(me)].now;
                let client = &mut self.clients[usize::from(me)];
                client.to_come -= 1;
                client.waited = false;
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
        let (mut next, mut effects, own) = (Some(input), Vec::new(), self.own(me));
        while let Some(input) = next.take() {
            let now = self.names[0].members[usize::from(me)].now;
            let client = &mut self.clients[usize::from(me)];
            let Some(call) = &mut client.call else {
                return;
            };
            call.on(input, now, &mut effects);
            let had_own = rules.nested && self.has(own, me);
            let mut over = false;
            for effect in effects.drain(..) {
                match effect {
                    TogetherEffect::Enter(name, patience) => {
                        self.clients[usize::from(me)].waited |= patience.waits();
                        self.names[name].enter(me, patience, &rules.name);
                    }
                    TogetherEffect::GiveBack(name) => self.names[name].give_back(me, &rules.name),
                    // Nothing waits for the store's answer, which may thus come at any time.
                    TogetherEffect::Confirm | TogetherEffect::Hold(_) => {}
                    TogetherEffect::Look => {
                        let mut names = [self.own(me)].into_iter().chain(0..rules.names);
                        let lost = names.find(|name| !self.has(*name, me));
                        next = Some(TogetherInput::Looked { lost });
                    }
                    TogetherEffect::Done => {
                        let without = (0..rules.names).any(|name| !self.has(name, me));
                        let client = &mut self.clients[usize::from(me)];
                        client.inside = true;
                        // Only after a wait, the times of all its holds begin again.
                        let waited = client.call.as_ref().is_some_and(Together::has_waited);
                        client.entered_without |= without || waited != client.waited;
                    }
                    TogetherEffect::Failed => over = true,
                }
            }
            if over {
                let took_away = had_own && !self.has(own, me);
                self.names[own].give_back(me, &rules.name);
                let may_fail = self.may_fail(&input, me);
                let client = &mut self.clients[usize::from(me)];
                let call = client.call.take();
                let is_patient = |it: &Together| it.patience().waits() && !it.has_used_up();
                client.failed |= !may_fail && call.as_ref().is_some_and(is_patient);
                client.took_away |= took_away;
                return;
            }
            next = next.or_else(|| self.answer(me));
        }
    }

    /// The name that the task of a client's call may have already.
    pub(super) fn own(&self, me: u8) -> usize {
        usize::from(me) % self.names.len()
    }

    fn waits(&self, name: usize, me: u8) -> bool {
        self.member(name, me.into())
            .state
            .waiters()
            .next()
            .is_some()
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
        (!waits).then(|| match self.member(asked, me.into()).heard.last() {
            Some(Err(Failure::Unavailable(_) | Failure::Refused(_))) => {
                TogetherInput::Refused(asked)
            }
            _ => TogetherInput::Busy(asked),
        })
    }

    /// Whether a name was refused, or the wait for it has used up all attempts.
    fn may_fail(&self, input: &TogetherInput, me: u8) -> bool {
        match input {
            TogetherInput::Refused(_) => true,
            TogetherInput::Busy(name) => {
                let heard = self.member(*name, me.into()).heard.last();
                matches!(heard, Some(Err(Failure::TooManyAttempts { .. })))
            }
            _ => false,
        }
    }
}
