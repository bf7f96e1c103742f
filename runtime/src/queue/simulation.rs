//! The local queue under a hostile network, on a clock by hand: many members, one name, and every order of
//! requests, replies, messages, broken connections, late copies, cancels, pauses and crashes that a seed yields.
//!
//! What must hold at every instant: at most one hold is valid by its member's own clock; fencing tokens
//! grow. What must hold in the end: whoever waits is served, at once where nobody died, and nothing stays behind in
//! the store. And where only the order is hostile, nothing is lost.
//!
//! `AUTO_MUTEX_SEED=n cargo test -p auto-mutex simulation` replays one run; `AUTO_MUTEX_RUNS=n` makes more.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::{Acquire, Patience, Want};
use crate::clock::{Instant, by_hand};
use crate::config::Config;
use crate::error::{LockError, StoreError};
use crate::lease::{Hold, Terms};
use crate::member::Member;
use crate::name::Name;
use crate::store::memory::state::State;
use crate::store::{Answer, Events, Member as MemberId, Message, Request, Store};
use crate::wait::lock;

/// A small generator: runs must be the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }
}

/// The member's end of the wire.
#[derive(Default)]
struct Wire {
    out: Mutex<VecDeque<Request>>,
}

impl Store for Wire {
    fn submit(&self, request: Request) -> Option<Answer> {
        lock(&self.out).push_back(request);
        None
    }
}

struct Node {
    id: MemberId,
    member: Arc<Member>,
    wire: Arc<Wire>,
    connected: bool,
    generation: u64,
    paused: bool,
    crashed: bool,
    replies: VecDeque<Answer>,
    pushes: VecDeque<Message>,
    /// Copies of requests from broken connections that may still be executed.
    late: Vec<(Instant, Request)>,
    waiting: Vec<Pin<Box<Acquire>>>,
    holds: Vec<Arc<Hold>>,
}

struct World {
    dice: Dice,
    /// Requests, replies and messages overtake each other, but nothing breaks.
    calm: bool,
    now: Instant,
    name: Name,
    state: State,
    nodes: Vec<Node>,
    last_token: u64,
    served: u32,
    lost: u32,
    log: Vec<String>,
}

impl World {
    fn new(seed: u64, calm: bool) -> Self {
        let mut world = Self {
            calm,
            dice: Dice(seed),
            now: Instant::from_nanos(1_000_000_000_000),
            name: Name::from_escaped("sim:name"),
            state: State::default(),
            nodes: Vec::new(),
            last_token: 0,
            served: 0,
            lost: 0,
            log: Vec::new(),
        };
        by_hand::set(world.now);
        for _ in 0..3 {
            world.join();
        }
        world
    }

    fn join(&mut self) {
        let settings = Config::new("memory://").unwrap().lease(10).patience(1000);
        let settings = settings.validate().unwrap();
        let wire = Arc::new(Wire::default());
        let member = Member::new(settings, wire.clone());
        member.connected(1);
        self.nodes.push(Node {
            id: MemberId::random(),
            member,
            wire,
            connected: true,
            generation: 1,
            paused: false,
            crashed: false,
            replies: VecDeque::new(),
            pushes: VecDeque::new(),
            late: Vec::new(),
            waiting: Vec::new(),
            holds: Vec::new(),
        });
    }

    fn note(&mut self, text: String) {
        let at = self.now.as_nanos() / 1_000_000 - 1_000_000;
        self.log.push(format!("{at:>8} ms  {text}"));
    }

    /// The server runs one request of node `index`.
    fn execute(&mut self, index: usize, request: Request, reply_reaches: bool) {
        let micros = 1_700_000_000_000_000 + self.now.as_nanos() / 1000;
        let mut pushes = Vec::new();
        let nodes = &self.nodes;
        let mut publish = |to: MemberId, message: Message| {
            let target = nodes
                .iter()
                .position(|node| node.id == to && node.connected && !node.crashed);
            if let Some(target) = target {
                pushes.push((target, message));
            }
            target.is_some()
        };
        let reply = self
            .state
            .apply(micros, nodes[index].id, &request.op, &mut publish);
        self.note(format!(
            "server: {index} {:?} -> {reply:?}, tells {pushes:?}",
            request.op
        ));
        for (target, message) in pushes {
            self.nodes[target].pushes.push_back(message);
        }
        if reply_reaches {
            let sent = self.now;
            let answer = Answer {
                request,
                sent,
                result: Ok(reply),
            };
            self.nodes[index].replies.push_back(answer);
        }
    }

    /// A copy from a broken connection arrives after all, unless it is older than a tombstone lasts.
    fn execute_late(&mut self, index: usize) {
        if let Some((sent, request)) = self.nodes[index].late.pop() {
            if sent.until(self.now) < Duration::from_secs(25) {
                self.execute(index, request, false);
            }
        }
    }

    fn enter(&mut self, index: usize) {
        let patience = match self.dice.roll(6) {
            0 => Patience::Queue(Some(Duration::ZERO)),
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
        let want = Want {
            units: 1,
            capacity: 1,
            terms: Terms {
                expire,
                at_least: Duration::ZERO,
            },
            patience,
            meta: "h 1 s".into(),
            home: None,
            blocking: false,
        };
        self.note(format!("{index} enters, {patience:?}, {expire:?}"));
        let node = &mut self.nodes[index];
        let acquire = node
            .member
            .with_local(&self.name, |local| local.enter(want.clone()));
        node.waiting.push(Box::pin(acquire.unwrap().unwrap()));
    }

    fn poll(&mut self, index: usize) {
        let mut cx = Context::from_waker(Waker::noop());
        let waiting = std::mem::take(&mut self.nodes[index].waiting);
        for mut acquire in waiting {
            match acquire.as_mut().poll(&mut cx) {
                Poll::Pending => self.nodes[index].waiting.push(acquire),
                Poll::Ready(Ok(hold)) => {
                    let token = hold.grant().token;
                    self.note(format!("{index} obtains {token}"));
                    if hold.is_valid() {
                        assert!(token > self.last_token, "the fencing token did not grow");
                        self.last_token = token;
                    }
                    self.served += 1;
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

    fn break_connection(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if !node.connected {
            return;
        }
        node.connected = false;
        node.pushes.clear();
        let mut unanswered: Vec<Request> = node
            .replies
            .drain(..)
            .map(|answer| answer.request)
            .collect();
        for request in lock(&node.wire.out).drain(..) {
            unanswered.push(Request {
                name: request.name.clone(),
                op: request.op.clone(),
                id: request.id,
            });
            if self.dice.chance(50) {
                node.late.push((self.now, request));
            }
        }
        self.log.push(format!(
            "{index} loses its connection, {} unanswered",
            unanswered.len()
        ));
        let error = StoreError::disconnected("cut");
        let (member, sent) = (node.member.clone(), self.now);
        member.disconnected(error.clone());
        for request in unanswered {
            member.answered(Answer {
                request,
                sent,
                result: Err(error.clone()),
            });
        }
    }

    fn connect(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        if node.connected {
            return;
        }
        // What was submitted while there was no connection fails first.
        let error = StoreError::disconnected("down");
        while let Some(request) = {
            let next = lock(&node.wire.out).pop_front();
            next
        } {
            let sent = self.now;
            node.member.answered(Answer {
                request,
                sent,
                result: Err(error.clone()),
            });
        }
        node.connected = true;
        node.generation += 1;
        let (member, generation) = (node.member.clone(), node.generation);
        self.note(format!("{index} connects"));
        member.connected(generation);
    }

    fn pass(&mut self, millis: u64) {
        self.now = self.now.after(Duration::from_millis(millis));
        by_hand::set(self.now);
        for node in &self.nodes {
            if !node.paused && !node.crashed {
                node.member.tick();
            }
        }
    }

    fn one_step_of_the_network(&mut self, index: usize) {
        match self.dice.roll(3) {
            0 => {
                let next = lock(&self.nodes[index].wire.out).pop_front();
                if let Some(request) = next {
                    if self.nodes[index].connected {
                        self.execute(index, request, true);
                    } else {
                        let (error, sent) = (StoreError::disconnected("down"), self.now);
                        let member = self.nodes[index].member.clone();
                        member.answered(Answer {
                            request,
                            sent,
                            result: Err(error),
                        });
                    }
                }
            }
            1 if !self.nodes[index].paused => {
                if let Some(answer) = self.nodes[index].replies.pop_front() {
                    self.nodes[index].member.clone().answered(answer);
                }
            }
            2 if !self.nodes[index].paused => {
                if let Some(message) = self.nodes[index].pushes.pop_front() {
                    let name = self.name.clone();
                    self.nodes[index].member.clone().told(&name, message);
                }
            }
            _ => {}
        }
    }

    fn random_step(&mut self) {
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
                self.note(format!("{index} releases {}", hold.grant().token));
                hold.local().release(&hold);
            }
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
                // Forgotten, not dropped: a crashed process cleans nothing up.
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

    fn check(&mut self) {
        let mut valid = Vec::new();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let before = node.holds.len();
            // A paused process has not noticed yet; its clock has.
            node.holds.retain(|hold| hold.is_valid());
            self.lost += (before - node.holds.len()) as u32;
            valid.extend(node.holds.iter().map(|hold| (index, hold.grant().token)));
        }
        assert!(valid.len() <= 1, "two hold at once: {valid:?}");
    }

    /// All faults end; everybody is served, and nothing is left.
    fn settle(&mut self) {
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
                    hold.local().release(&hold);
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
        // What crashed members left ends with their leases; everything else is gone at once.
        self.pass(40_000);
        for index in 0..self.nodes.len() {
            while !self.nodes[index].crashed && lock(&self.nodes[index].wire.out).front().is_some()
            {
                self.one_step_of_the_network(index);
            }
        }
        let micros = 1_700_000_000_000_000 + self.now.as_nanos() / 1000;
        let op = crate::store::Op::Touch {
            ticket: crate::store::Ticket::random(),
            counter: 1,
            hold: Duration::from_secs(1),
            place: Duration::from_secs(1),
        };
        self.state
            .apply(micros, MemberId::random(), &op, &mut |_, _| true);
        assert!(
            self.state.is_idle(),
            "something stayed behind: {:?}",
            self.state
        );
    }
}

fn run(seed: u64, calm: bool) -> (u32, u32) {
    let mut world = World::new(seed, calm);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..600 {
            world.random_step();
        }
        world.settle();
    }));
    if let Err(panic) = result {
        let tail = world.log.len().saturating_sub(120);
        eprintln!("{}", world.log[tail..].join("\n"));
        eprintln!("replay with AUTO_MUTEX_SEED={seed}");
        std::panic::resume_unwind(panic);
    }
    (world.served, world.lost)
}

fn runs(calm: bool) -> (u32, u32) {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    if let Some(seed) = number("AUTO_MUTEX_SEED") {
        run(seed, calm);
        return (1, 0);
    }
    let (mut served, mut lost) = (0, 0);
    for seed in 0..number("AUTO_MUTEX_RUNS").unwrap_or(1000) {
        let result = run(seed, calm);
        served += result.0;
        lost += result.1;
    }
    println!("{served} served, {lost} lost");
    (served, lost)
}

#[test]
fn whatever_the_network_does_one_holds_and_all_are_served() {
    let (served, _) = runs(false);
    assert!(served > 0);
}

#[test]
fn whatever_the_order_nothing_is_lost() {
    let (served, lost) = runs(true);
    assert!(served > 0);
    assert_eq!(lost, 0, "a lock was lost for no reason");
}
