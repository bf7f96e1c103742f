//! The members, their random actions, and the checks during and after a run.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::node::{Node, Wire};
use super::shape::{Shape, Signals};
use crate::base::clock::{Instant, by_hand};
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::base::wait::{DeferredWakes, lock};
use crate::config::Config;
use crate::lease::Terms;
use crate::queue::{ClientCore, Hold};
use crate::queue::{Patience, Requester, Want};
use crate::store::memory::state::State;
use crate::store::{Events, Lease, MemberId, NodeChange, Op, Ticket};
use crate::testing::Dice;

pub(super) struct World {
    pub(super) dice: Dice,
    /// Requests, replies and messages are reordered, but no connection breaks and no member dies.
    pub(super) calm: bool,
    pub(super) now: Instant,
    pub(super) name: Name,
    pub(super) state: State,
    pub(super) nodes: Vec<Node>,
    pub(super) last_token: u64,
    /// Until when the store keeps the ticket of the last released hold, because of its `at_least`.
    pub(super) kept_until: Instant,
    pub(super) served: u32,
    pub(super) lost: u32,
    /// How many holds came from a handoff within the process.
    pub(super) handed: u32,
    pub(super) log: Vec<String>,
    pub(super) shape: Shape,
    /// The budget of local handoffs: how many, and for how long.
    handoff: (u32, Duration),
    pub(super) signals: Signals,
}

impl World {
    pub(super) fn new(seed: u64, calm: bool) -> Self {
        let mut world = Self {
            calm,
            dice: Dice(seed),
            now: Instant::from_nanos(1_000_000_000_000),
            name: Name::from_escaped("sim:name"),
            state: State::default(),
            nodes: Vec::new(),
            last_token: 0,
            kept_until: Instant::START,
            served: 0,
            lost: 0,
            handed: 0,
            log: Vec::new(),
            shape: Shape::of(seed),
            handoff: [
                (0, Duration::ZERO),
                (100, Duration::from_millis(5)),
                (3, Duration::from_secs(20)),
            ][(seed / 16 % 3) as usize],
            signals: Signals::default(),
        };
        by_hand::set(world.now);
        for _ in 0..3 {
            world.join();
        }
        world
    }

    pub(super) fn join(&mut self) {
        let config = Config::new("memory://")
            .unwrap()
            .lease("10s")
            .store_timeout("1000s");
        let (times, time) = self.handoff;
        let settings = config.local_handoff(times, time).validate().unwrap();
        let wire = Arc::new(Wire::default());
        let member = ClientCore::new(settings, wire.clone());
        member.node_changed(
            crate::store::Node::ONLY,
            NodeChange::Connected { again: false },
        );
        self.nodes.push(Node {
            id: MemberId::random(),
            member,
            wire,
            connected: true,
            paused: false,
            crashed: false,
            replies: VecDeque::new(),
            pushes: VecDeque::new(),
            late: Vec::new(),
            waiting: Vec::new(),
            holds: Vec::new(),
            old: Vec::new(),
            unlocks: Vec::new(),
            renewals: Vec::new(),
        });
    }

    pub(super) fn note(&mut self, text: String) {
        let at = self.now.as_nanos() / 1_000_000 - 1_000_000;
        self.log.push(format!("{at:>8} ms  {text}"));
    }

    pub(super) fn enter(&mut self, index: usize) {
        let patience = match self.dice.roll(6) {
            0 => Patience::NONE,
            1 => Patience::Queue(Some(Duration::from_millis(self.dice.roll(8000) as u64 + 1))),
            2 => Patience::Poll {
                retries: 3,
                interval: Duration::from_millis(300),
                block: None,
            },
            _ => Patience::Queue(None),
        };
        let expire = self
            .dice
            .chance(if self.calm { 0 } else { 20 })
            .then(|| Duration::from_millis(self.dice.roll(15_000) as u64 + 50));
        let at_least = match self.dice.roll(10) {
            0 => Duration::from_millis(self.dice.roll(200) as u64),
            _ => Duration::ZERO,
        };
        let want = Want {
            share: self.share(),
            owner: None,
            terms: Terms {
                expire,
                at_least,
                ..Terms::default()
            },
            patience,
            meta: "h 1 s".into(),
            label: crate::observe::BY_HAND,
            relies: false,
            waited: Duration::ZERO,
            attempts: 0,
            by: Requester::default(),
        };
        self.note(format!("{index} enters, {patience:?}, {expire:?}"));
        let node = &mut self.nodes[index];
        let acquire = node
            .member
            .with_queue(&self.name, |local| local.enter(&want));
        let waiter = Box::pin(acquire.unwrap().unwrap());
        node.waiting.push((self.last_token, waiter));
    }

    pub(super) fn poll(&mut self, index: usize) {
        let mut cx = Context::from_waker(Waker::noop());
        let waiting = std::mem::take(&mut self.nodes[index].waiting);
        for (before, mut acquire) in waiting {
            match acquire.as_mut().poll(&mut cx) {
                Poll::Pending => self.nodes[index].waiting.push((before, acquire)),
                Poll::Ready(Ok(hold)) => {
                    let token = hold.grant.token;
                    self.note(format!("{index} obtains {token}"));
                    if hold.is_valid() {
                        self.obtained(&hold, before);
                    }
                    self.served += 1;
                    self.handed += u32::from(!token.is_multiple_of(1024));
                    self.nodes[index].holds.push(hold);
                }
                Poll::Ready(Err(error)) => {
                    assert!(
                        matches!(
                            error,
                            LockError::Timeout { .. }
                                | LockError::TooManyAttempts { .. }
                                | LockError::Unavailable { .. }
                        ),
                        "{error:?}"
                    );
                    self.note(format!("{index} fails: {error}"));
                }
            }
        }
    }

    /// Records that a caller has `hold`. `before` is the greatest token when the caller asked for the lock.
    fn obtained(&mut self, hold: &Hold, before: u64) {
        let token = hold.grant.token;
        let handed = token % 1024;
        assert!(handed <= u64::from(self.handoff.0), "handed on too often");
        // When several callers get the lock at once, a later grant may be noticed first.
        let before = match self.shape {
            Shape::Mutex => self.last_token,
            _ => before,
        };
        assert!(token > before, "the fencing token did not grow");
        self.last_token = self.last_token.max(token);
        if self.shape == Shape::Mutex {
            assert!(
                !self.calm || self.now >= self.kept_until,
                "obtained before `at_least` of the one before was over"
            );
        }
    }

    pub(super) fn pass(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
        by_hand::set(self.now);
        for node in &self.nodes {
            if !node.paused && !node.crashed {
                node.member.tick();
            }
        }
    }

    pub(super) fn random_step(&mut self) {
        let index = self.dice.roll(self.nodes.len());
        if self.nodes[index].crashed {
            self.execute_late(index);
            return;
        }
        let what = match self.dice.roll(100) {
            fault @ (23..=35 | 46) if self.calm => fault + 24,
            what => what,
        };
        match what {
            0..=9 if self.nodes[index].waiting.len() < 4 => self.enter(index),
            10..=12 if !self.nodes[index].waiting.is_empty() => {
                let which = self.dice.roll(self.nodes[index].waiting.len());
                self.note(format!("{index} cancels"));
                drop(self.nodes[index].waiting.swap_remove(which));
            }
            13..=22 if !self.nodes[index].holds.is_empty() => {
                let hold = self.nodes[index].holds.pop().unwrap();
                self.release(index, &hold);
            }
            47..=49 if !self.nodes[index].holds.is_empty() => {
                let hold = self.nodes[index].holds[0].clone();
                let renewal = if self.calm || self.dice.chance(50) {
                    hold.renew()
                } else {
                    let expire = Duration::from_millis(self.dice.roll(8000) as u64 + 10);
                    self.note(format!(
                        "{index} refreshes {} for {expire:?}",
                        hold.grant.token
                    ));
                    hold.refresh(expire)
                };
                self.nodes[index].renewals.extend(renewal);
            }
            57 if !self.nodes[index].old.is_empty() => {
                // Another caller may have the ticket of this hold by now.
                let old = self.nodes[index].old.swap_remove(0);
                old.release(false);
                assert!(old.renew().is_none());
            }
            50..=51 if !self.nodes[index].holds.is_empty() => {
                let hold = self.nodes[index].holds[0].clone();
                self.downgrade(index, &hold);
            }
            52..=56 => self.signal(index),
            23 => self.break_connection(index),
            24..=26 => self.connect(index),
            27 => self.nodes[index].paused = true,
            28..=33 => self.nodes[index].paused = false,
            34 => self.execute_late(index),
            35 if self.nodes.iter().filter(|node| !node.crashed).count() > 2
                && self.dice.chance(10) =>
            {
                self.note(format!("{index} crashes"));
                self.break_connection(index);
                let node = &mut self.nodes[index];
                node.crashed = true;
                node.holds.clear();
                // The waiters are forgotten, not dropped, because a crashed process cleans nothing up.
                node.waiting.drain(..).for_each(std::mem::forget);
                self.join();
            }
            36..=45 => {
                let span = [1, 10, 100, 700, 2500][self.dice.roll(if self.calm { 2 } else { 5 })];
                self.pass(self.dice.0 % span + 1);
            }
            46 if self.dice.chance(20) => self.pass(9_950),
            _ => self.one_step_of_the_network(index),
        }
        if !self.nodes[index].paused {
            self.poll(index);
        }
        self.check();
    }

    /// Releases the hold, or unlocks it and waits for the store's answer.
    fn release(&mut self, index: usize, hold: &Arc<Hold>) {
        self.note(format!("{index} releases {}", hold.grant.token));
        let held = hold.is_valid();
        if held {
            // Durations are sent in whole milliseconds.
            let park = hold.park(self.now).saturating_sub(Duration::from_millis(1));
            self.kept_until = self.now.after(park);
        }
        self.nodes[index].old.push(hold.clone());
        if held && self.dice.chance(20) {
            hold.release(true);
            return;
        }
        if held {
            self.consume(hold);
        }
        if self.dice.chance(50) {
            hold.release(false);
        } else {
            let unlocked = hold.unlock();
            self.nodes[index].unlocks.push((unlocked, held));
        }
    }

    /// Checks that all callers that waited for an answer of the store got one, and that the answer is true.
    fn check_words(&mut self) {
        let calm = self.calm;
        for node in self.nodes.iter_mut().filter(|node| !node.crashed) {
            for (unlocked, held) in node.unlocks.drain(..) {
                let word = unlocked.close(&mut DeferredWakes::default());
                match word.expect("an unlock is never answered") {
                    // Under faults the lease may end while the release is in flight.
                    Ok(word) => assert!(
                        word.is_some() == held || word.is_none() && !calm,
                        "unlock says {word:?}, not {held}"
                    ),
                    Err(error) => assert!(!calm, "{error}"),
                }
            }
            for renewal in node.renewals.drain(..) {
                let word = renewal.close(&mut DeferredWakes::default());
                word.expect("a renewal is never answered").ok();
            }
        }
    }

    pub(super) fn check(&mut self) {
        let mut valid = Vec::new();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let before = node.holds.len();
            // A paused process has not noticed the end yet, but its clock shows that the hold is over.
            node.holds.retain(|hold| hold.is_valid());
            self.lost += (before - node.holds.len()) as u32;
            valid.extend(node.holds.iter().map(|hold| (index, hold.clone())));
        }
        self.check_holds(&valid);
    }

    /// Ends all faults. Then every caller must be served, and nothing may be left.
    pub(super) fn settle(&mut self) {
        for index in 0..self.nodes.len() {
            self.nodes[index].paused = false;
            while !self.nodes[index].late.is_empty() {
                self.execute_late(index);
            }
            if !self.nodes[index].crashed {
                self.connect(index);
            }
        }
        let (mut quiet, started) = (0, self.now);
        for _ in 0..200_000 {
            let mut moved = false;
            for index in 0..self.nodes.len() {
                if self.nodes[index].crashed {
                    continue;
                }
                let busy = |node: &Node| {
                    !lock(&node.wire.out).is_empty()
                        || !node.replies.is_empty()
                        || !node.pushes.is_empty()
                };
                while busy(&self.nodes[index]) {
                    self.one_step_of_the_network(index);
                    moved = true;
                }
                self.poll(index);
                while let Some(hold) = self.nodes[index].holds.pop() {
                    self.release(index, &hold);
                    moved = true;
                }
                self.check();
            }
            let done = self
                .nodes
                .iter()
                .all(|node| node.crashed || node.waiting.is_empty());
            if done && !moved {
                quiet += 1;
                if quiet > 2 {
                    break;
                }
            }
            if !moved {
                self.pass(100);
            }
        }
        for node in &self.nodes {
            assert!(
                node.crashed || node.waiting.is_empty(),
                "somebody waits for ever"
            );
        }
        if !self.nodes.iter().any(|node| node.crashed) {
            let took = started.until(self.now);
            assert!(
                took < Duration::from_secs(8),
                "a ticket nobody wants held for {took:?}"
            );
        }
        // The tickets of crashed members end with their leases. All other tickets have already left the store.
        self.pass(40_000);
        for index in 0..self.nodes.len() {
            while !self.nodes[index].crashed && lock(&self.nodes[index].wire.out).front().is_some()
            {
                self.one_step_of_the_network(index);
            }
        }
        self.check_words();
        let micros = 1_700_000_000_000_000 + self.now.as_nanos() / 1000;
        let op = Op::Touch {
            lease: Lease::of(Ticket::random(), 1, Duration::from_secs(1)),
            units: 0,
        };
        self.state
            .apply(micros, 0, MemberId::random(), &op, &mut |_, _| true);
        self.check_signals(micros);
        self.state.apply(
            micros + 31_000_000,
            0,
            MemberId::random(),
            &op,
            &mut |_, _| true,
        );
        assert!(
            self.state.is_idle(),
            "something stayed behind: {:?}",
            self.state
        );
    }
}
