//! A world of the model, and a memory store that gets the same requests.

use std::mem::take;

use auto_mutex_model::network::{self, Reply, Request, Verb, Wish};
use auto_mutex_model::rules::Rules;
use auto_mutex_model::world::{Action, Executed, World};

use super::of_model::holds;
use super::words::{self, Words};
use crate::{Env, LIMITS, Lease, Message, Mode, Op, Share, State};

const HOUR_US: u64 = 3_600_000_000;

/// The model's world and the memory store.
#[derive(Clone, Debug)]
pub(super) struct Twin {
    pub(super) world: World,
    words: Words,
    now: u64,
    state: State,
    /// The state of the memory store that a replica has copied.
    replica: State,
}

impl Twin {
    /// `rules` are the rules of the world, without the fault that a test adds.
    pub(super) fn new(rules: &Rules) -> Self {
        Self {
            world: World::new(rules),
            words: Words::new(rules),
            now: 1_700_000_000_000_000,
            state: State::default(),
            replica: State::default(),
        }
    }

    /// Carries out `action` in the model and in the memory store. An error describes how they differ.
    pub(super) fn happen(&mut self, action: &Action, rules: &Rules) -> Result<(), String> {
        match action {
            Action::Tick(_) | Action::StoreTick => self.now += self.words.tick_ms * 1000,
            Action::StepBack => self.now -= HOUR_US,
            Action::Replicate => self.replica = self.state.clone(),
            Action::Restart => self.state = State::default(),
            Action::Failover => self.state = take(&mut self.replica),
            _ => {}
        }
        let request = match *action {
            Action::Execute(me) => self.world.connections[usize::from(me)]
                .requests
                .first()
                .copied(),
            Action::Late(_, request) => Some(request),
            _ => None,
        };
        let held = request.is_some_and(|request| holds(&self.world.store, request));
        let listening = self.listening();
        match self.world.happen(action, rules) {
            Some(executed) => self.execute(&executed, held, &listening, rules),
            None if matches!(action, Action::Restart | Action::Failover) => {
                self.happen(&Action::StoreTick, rules)
            }
            None => Ok(()),
        }
    }

    /// Sends both stores a request that no member of the model has sent.
    pub(super) fn ask(&mut self, request: Request, rules: &Rules) -> Result<(), String> {
        let held = holds(&self.world.store, request);
        let listening = self.listening();
        let executed = self.world.look(request, rules);
        self.execute(&executed, held, &listening, rules)
    }

    fn listening(&self) -> Vec<bool> {
        let connections = self.world.connections.iter();
        connections.map(|connection| connection.connected).collect()
    }

    fn execute(
        &mut self,
        executed: &Executed,
        held: bool,
        listening: &[bool],
        rules: &Rules,
    ) -> Result<(), String> {
        let closed_us = self.words.millis(executed.closed) * 1000;
        let opens = if closed_us > 0 {
            self.now + closed_us
        } else {
            0
        };
        let op = self.op(executed.request, rules);
        let mut told = Vec::new();
        let hears = |to| {
            let mut members = 0..listening.len() as u8;
            members.any(|me| words::member(me) == to && listening[usize::from(me)])
        };
        let env = Env {
            now: self.now,
            grants_from: opens,
            member: words::member(executed.member),
            limits: &LIMITS,
            hears: &hears,
        };
        let reply = self.state.on(&op, &env, &mut told);
        // The model also notifies those who hear nothing, but grants them nothing.
        told.retain(|(to, message)| hears(*to) || matches!(message, Message::Near { .. }));
        self.note_grants(executed, &reply, &told)?;
        let store = &self.world.store;
        let model = self.words.of_model(executed, held, store, rules);
        let memory = self.words.of_memory(reply, told, &self.state, self.now);
        if model == memory {
            return Ok(());
        }
        Err(format!(
            "the model: {model:#?}\nthe memory store: {memory:#?}"
        ))
    }

    fn op(&self, request: Request, rules: &Rules) -> Op {
        let ticket = words::ticket(request.ticket);
        let lease = |wish: Wish| Lease {
            ticket,
            counter: wish.counter.into(),
            hold: self.words.duration(rules.hold(wish.short)),
            place: self.words.duration(rules.place),
            retain: words::retain(wish.retain),
        };
        match request.verb {
            Verb::Acquire(wish) => Op::Acquire {
                lease: lease(wish),
                share: Share::of(1, rules.capacity.into()),
                mode: Mode::Queue,
                meta: "host 1 site".into(),
            },
            Verb::Touch(wish) => Op::Touch {
                lease: lease(wish),
                units: 0,
            },
            Verb::Release { tomb } => Op::Release {
                ticket,
                park: std::time::Duration::ZERO,
                tomb,
                used: 0,
            },
        }
    }

    /// Compares the tokens of the grants in pairs. A differing number of grants shows when the outcomes are compared.
    fn note_grants(
        &mut self,
        executed: &Executed,
        reply: &crate::Reply,
        told: &[(crate::MemberId, Message)],
    ) -> Result<(), String> {
        let grants = told.iter().filter_map(|(_, message)| match message {
            Message::Grant { token, .. } => Some(*token),
            _ => None,
        });
        let granted = executed.told.iter().filter_map(network::Message::grant);
        for (grant, token) in granted.zip(grants) {
            self.words.given(grant.token.fence, token)?;
        }
        if let (Reply::Granted(said), crate::Reply::Granted { token, .. }) = (executed.reply, reply)
        {
            self.words.given(said.fence, *token)?;
        }
        Ok(())
    }
}
