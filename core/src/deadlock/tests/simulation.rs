//! Random programs of many members on a virtual clock. Every deadlock must be found in time, and nothing else may ever
//! be reported, although messages are lost, late and duplicated.
//!
//! The members search with the real [`Detector`]; the store is a plain queue of tickets. A second, simple calculation
//! over the whole world finds the tasks that are really deadlocked.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::probes::record;
use crate::base::clock::Instant;
use crate::base::error::LockError;
use crate::base::name::Name;
use crate::config::Deadlock;
use crate::deadlock::detector::Detector;
use crate::deadlock::graph::{self, Cycle, WaitId, WaitingHold};
use crate::deadlock::probe::{Answer, Probe};
use crate::deadlock::search::Todo;
use crate::deadlock::waits::{HeldLock, TaskWait, Waiting};
use crate::store::{Engine, engine};
use crate::store::{MemberId, NameRecord, Ticket};
use crate::testing::Dice;

/// The parameters of a schedule.
#[derive(Clone, Copy)]
struct Shape {
    /// A task whose wait would cause a deadlock gives up instead, so there is no deadlock.
    avoids: bool,
    /// Percent of messages that are lost, that arrive twice, and that arrive late.
    lost: u64,
    doubled: u64,
    late: u64,
    /// The longest delay of a message that is not late, and the longest work under a lock, in milliseconds.
    way: u64,
    work: u64,
    /// The option `deadlock_after`.
    after: Duration,
    mode: Deadlock,
}

/// A task takes locks one after the other, then releases all of them.
struct Task {
    member: usize,
    plan: Vec<(usize, u32)>,
    held: Vec<Arc<Held>>,
    waits: Option<Pending>,
}

/// A wait in progress.
struct Pending {
    name: usize,
    units: u32,
    ticket: Ticket,
    since: Instant,
    /// The entry in the list of waits (`waits.rs`); `None` if the task holds nothing.
    registered: Option<Arc<TaskWait>>,
}

/// A hold.
struct Held {
    client: u64,
    name: usize,
    ticket: Ticket,
    token: u64,
    units: u32,
    world: Arc<Mutex<Truth>>,
}

/// A lock.
#[derive(Default)]
struct Lock {
    capacity: u32,
    holders: Vec<(Ticket, usize, u32)>,
    queue: Vec<(Ticket, usize, u32)>,
}

/// The part of the world that members may read from inside a call.
struct Truth {
    locks: Vec<Lock>,
    now: Instant,
    failed: Vec<Ticket>,
}

struct Wait {
    mode: Deadlock,
    name: usize,
    named: Name,
    ticket: Ticket,
    units: u32,
    since: Instant,
    world: Arc<Mutex<Truth>>,
}

fn lock(world: &Mutex<Truth>) -> MutexGuard<'_, Truth> {
    world.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HeldLock for Held {
    fn client(&self) -> u64 {
        self.client
    }
    fn is_at(&self, _: &dyn Engine) -> bool {
        true
    }
    fn ticket(&self) -> Ticket {
        self.ticket
    }
    fn view(&self) -> Option<WaitingHold> {
        let world = lock(&self.world);
        let holders = &world.locks[self.name].holders;
        holders.iter().find(|holder| holder.0 == self.ticket)?;
        Some(WaitingHold {
            ticket: self.ticket,
            token: self.token,
            units: self.units,
            held: Duration::ZERO,
            meta: "h 1 s".into(),
            waits: Vec::new(),
        })
    }
}

impl Waiting for Wait {
    fn is_at(&self, _: &dyn Engine) -> bool {
        true
    }
    fn view(&self, id: WaitId) -> Option<graph::Wait> {
        let world = lock(&self.world);
        let queue = &world.locks[self.name].queue;
        queue.iter().find(|waiter| waiter.0 == self.ticket)?;
        Some(graph::Wait {
            id,
            name: self.named.clone(),
            units: self.units,
            after: Some(self.ticket),
            waited: self.since.until(world.now),
            meta: "h 1 s".into(),
            mode: self.mode,
        })
    }
    fn fail(&self, _: LockError) {
        lock(&self.world).failed.push(self.ticket);
    }
}

/// A future event.
enum Event {
    /// A task takes its next step.
    Step(usize),
    /// The store inspects a name for a search of a member.
    Inspect(usize, u64, Name, u32),
    /// The store's answer arrives.
    Inspected(usize, u64, (Name, u32), Box<NameRecord>),
    /// A message arrives: the sender, the receiver, the name that it is about, and its text.
    Probe(usize, usize, Name, String),
    Tick(usize),
}

struct World {
    dice: Dice,
    shape: Shape,
    truth: Arc<Mutex<Truth>>,
    tasks: Vec<Task>,
    detectors: Vec<Detector>,
    ids: Vec<MemberId>,
    clients: Vec<u64>,
    events: BinaryHeap<Reverse<(Instant, u64)>>,
    kept: HashMap<u64, Event>,
    count: u64,
    token: u64,
    /// The deadlocked tasks by the plain calculation, each with the time when the last of them got stuck.
    stuck: HashMap<usize, Instant>,
    /// The reported deadlocks, each as the tokens of its holds.
    reported: HashSet<Vec<u64>>,
    verdicts: usize,
    seed: u64,
    /// The past sets of deadlocked holds, each with the time until which it lasted.
    history: Vec<(Instant, HashSet<Ticket>)>,
}

fn named(number: usize) -> Name {
    Name::from_escaped(&format!("n:{number}"))
}

impl World {
    fn new(seed: u64, shape: Shape) -> Self {
        let mut dice = Dice(seed);
        let crowded = shape.way > 10;
        let members = usize::from(dice.between(2, 8));
        let names = usize::from(if crowded { 3 } else { dice.between(2, 8) });
        let locks = (0..names).map(|_| Lock {
            capacity: if crowded {
                1
            } else {
                dice.of(&[1, 1, 1, 2, 3, 100])
            },
            ..Lock::default()
        });
        let truth = Truth {
            locks: locks.collect(),
            now: Instant::START.after(Duration::from_secs(1)),
            failed: Vec::new(),
        };
        let ids = (0..members).map(|_| dice.member()).collect();
        let clients: Vec<u64> = (0..members).map(|_| dice.below(u64::MAX)).collect();
        let engine = engine::parse("memory://").expect("an engine");
        let detector = |client: &u64| Detector::new(*client, engine.clone());
        let mut world = Self {
            tasks: Vec::new(),
            detectors: clients.iter().map(detector).collect(),
            ids,
            clients,
            events: BinaryHeap::new(),
            kept: HashMap::new(),
            count: 0,
            token: 0,
            stuck: HashMap::new(),
            reported: HashSet::new(),
            verdicts: 0,
            seed,
            history: Vec::new(),
            truth: Arc::new(Mutex::new(truth)),
            dice,
            shape,
        };
        for number in 0..members + world.dice.roll(4) {
            let member = number % members;
            let plan = world.plan(names);
            world.tasks.push(Task {
                member,
                plan,
                held: Vec::new(),
                waits: None,
            });
            let soon = world.millis(50);
            world.at(soon, Event::Step(number));
        }
        world
    }

    /// Makes a random plan: distinct names, each with units within its capacity.
    fn plan(&mut self, names: usize) -> Vec<(usize, u32)> {
        let mut all: Vec<usize> = (0..names).collect();
        let mut plan = Vec::new();
        let most = if self.shape.way > 10 { 2 } else { 3 };
        for _ in 0..usize::from(self.dice.between(1, most)).min(names) {
            let name = all.swap_remove(self.dice.roll(all.len()));
            let capacity = lock(&self.truth).locks[name].capacity;
            let units = self.dice.of(&[1, 1, capacity, capacity.min(2)]);
            plan.push((name, units));
        }
        plan
    }

    fn now(&self) -> Instant {
        lock(&self.truth).now
    }

    fn millis(&mut self, most: u64) -> Duration {
        Duration::from_micros(self.dice.below(most * 1000))
    }

    fn at(&mut self, after: Duration, event: Event) {
        self.count += 1;
        self.kept.insert(self.count, event);
        let when = self.now().after(after);
        self.events.push(Reverse((when, self.count)));
    }

    /// Sends a message, which may get lost, duplicated or delayed.
    fn send(&mut self, event: impl Fn() -> Event) {
        if self.dice.chance(self.shape.lost) {
            return;
        }
        let copies = 1 + u64::from(self.dice.chance(self.shape.doubled));
        for _ in 0..copies {
            let late = self.dice.chance(self.shape.late);
            let delay = self.millis(if late { 1000 } else { self.shape.way });
            self.at(delay, event());
        }
    }

    fn run(&mut self, until: Duration) {
        let ends = Instant::START.after(until);
        while let Some(Reverse((when, number))) = self.events.pop() {
            if when > ends {
                self.events.push(Reverse((when, number)));
                lock(&self.truth).now = ends;
                break;
            }
            lock(&self.truth).now = when;
            let Some(event) = self.kept.remove(&number) else {
                continue;
            };
            let changes = matches!(event, Event::Step(_));
            match event {
                Event::Step(task) => self.step(task),
                Event::Inspect(member, round, name, above) => {
                    let record = Box::new(self.inspect(&name, above));
                    let asked = (name, above);
                    self.send(|| Event::Inspected(member, round, asked.clone(), record.clone()));
                }
                Event::Inspected(member, round, (name, above), record) => {
                    let (now, asked) = (self.now(), (&name, above));
                    let todos = self.detectors[member].inspected(round, asked, &record, now);
                    self.carry_out(member, todos);
                }
                Event::Probe(from, to, name, text) => self.probed(from, to, &name, &text),
                Event::Tick(member) => {
                    let now = self.now();
                    let todos = self.detectors[member].tick(now);
                    self.carry_out(member, todos);
                }
            }
            if self.end_failed() || changes {
                self.check_time();
            }
        }
    }

    fn inspect(&self, name: &Name, above: u32) -> NameRecord {
        let world = lock(&self.truth);
        let number: usize = name.as_str()[2..].parse().unwrap();
        let lock = &world.locks[number];
        let all = |tickets: &[(Ticket, usize, u32)]| {
            let of = |&(ticket, member, units): &(Ticket, usize, u32)| {
                record(ticket, self.ids[member], units)
            };
            tickets.iter().map(of).collect()
        };
        NameRecord {
            capacity: Some(lock.capacity),
            holders: all(&lock.holders),
            waiters: match above < lock.capacity {
                true => all(&lock.queue),
                false => Vec::new(),
            },
            ..NameRecord::default()
        }
    }

    fn probed(&mut self, from: usize, to: usize, name: &Name, text: &str) {
        let now = self.now();
        match Probe::read(text).unwrap() {
            Probe::Ask { round, tickets } => {
                let waiting: HashSet<Ticket> = {
                    let world = lock(&self.truth);
                    let queues = world.locks.iter().flat_map(|lock| &lock.queue);
                    queues.map(|waiter| waiter.0).collect()
                };
                let waits = |ticket| waiting.contains(&ticket);
                let answer = self.detectors[to].answer(round, &tickets, waits);
                let text = Probe::Answer(answer).text();
                self.send(|| Event::Probe(to, from, name.clone(), text.clone()));
            }
            Probe::Answer(answer) => {
                let todos = self.detectors[to].answered(answer, now);
                self.carry_out(to, todos);
            }
            Probe::Search { wait } => {
                let todos = self.detectors[to].search(wait, now);
                self.carry_out(to, todos);
            }
        }
    }

    fn carry_out(&mut self, member: usize, todos: Vec<Todo>) {
        for todo in todos {
            match todo {
                Todo::Inspect { round, name, above } => {
                    self.send(|| Event::Inspect(member, round, name.clone(), above));
                }
                Todo::Send {
                    name,
                    member: to,
                    probe,
                } => {
                    let to = self.ids.iter().position(|id| *id == to).unwrap();
                    let text = probe.text();
                    self.send(|| Event::Probe(member, to, name.clone(), text.clone()));
                }
                Todo::Judge { cycle, wait } => self.judge(&cycle, &wait),
            }
        }
        let (now, next) = (self.now(), self.detectors[member].next());
        if let Some(next) = next {
            self.at(now.until(next), Event::Tick(member));
        }
    }

    /// Checks a deadlock that a member has reported.
    fn judge(&mut self, cycle: &Cycle, wait: &TaskWait) {
        // If messages may be late, the deadlock may have ended in the last seconds, because another member reported it.
        let now = self.now();
        let lately = |(since, _): &&(Instant, HashSet<Ticket>)| {
            self.shape.late > 0 && since.until(now) <= Duration::from_secs(3)
        };
        let known = self
            .history
            .iter()
            .filter(lately)
            .map(|(_, stuck)| stuck.clone());
        let known: Vec<HashSet<Ticket>> = known.chain([self.stuck_holds()]).collect();
        let steps = &cycle.steps;
        let all_in =
            |stuck: &HashSet<Ticket>| steps.iter().all(|step| stuck.contains(&step.hold.ticket));
        assert!(
            known.iter().any(all_in),
            "seed {:#x}: a false report: {:?}",
            self.seed,
            cycle
        );
        let mut tokens: Vec<u64> = steps.iter().map(|step| step.hold.token).collect();
        tokens.sort_unstable();
        assert!(
            self.reported.insert(tokens),
            "seed {:#x}: reported twice: {:?}",
            self.seed,
            cycle
        );
        self.verdicts += 1;
        if wait.mode == Deadlock::Fail {
            wait.fail(LockError::Deadlock {
                cycle: cycle.hops(),
            });
        }
    }

    /// Tasks whose calls failed release everything and start over. Returns whether there were any.
    fn end_failed(&mut self) -> bool {
        let failed = std::mem::take(&mut lock(&self.truth).failed);
        let any = !failed.is_empty();
        for ticket in failed {
            let mut tasks = self.tasks.iter();
            let of = |task: &Task| {
                task.waits
                    .as_ref()
                    .is_some_and(|wait| wait.ticket == ticket)
            };
            let Some(task) = tasks.position(of) else {
                continue;
            };
            self.withdraw(task);
        }
        any
    }

    /// The task asks for its next lock, or releases all locks after the last one.
    fn step(&mut self, task: usize) {
        if self.tasks[task].waits.is_some() {
            return;
        }
        let Some((name, units)) = self.tasks[task].plan.pop() else {
            return self.release(task);
        };
        let (ticket, member) = (self.dice.ticket(), self.tasks[task].member);
        let since = self.now();
        lock(&self.truth).locks[name]
            .queue
            .push((ticket, member, units));
        let mut wait = Pending {
            name,
            units,
            ticket,
            since,
            registered: None,
        };
        let mut held: Vec<Arc<dyn HeldLock>> = Vec::new();
        for hold in &self.tasks[task].held {
            held.push(hold.clone());
        }
        if !held.is_empty() {
            let waiting = Wait {
                mode: self.shape.mode,
                name,
                named: named(name),
                ticket,
                units,
                since,
                world: self.truth.clone(),
            };
            wait.registered = Some(TaskWait::new(
                self.clients[member],
                self.shape.mode,
                Box::new(waiting),
                held,
            ));
        }
        if let Some(registered) = &wait.registered {
            let after = self.shape.after;
            self.detectors[member].add(registered, since, after);
            self.at(after, Event::Tick(member));
        }
        self.tasks[task].waits = Some(wait);
        self.grant(name);
        if self.shape.avoids && !self.truly_stuck().is_empty() {
            self.withdraw(task);
        }
    }

    /// The task gives up its wait, and releases all its locks.
    fn withdraw(&mut self, task: usize) {
        if let Some(wait) = self.tasks[task].waits.take() {
            let other = |waiter: &(Ticket, usize, u32)| waiter.0 != wait.ticket;
            lock(&self.truth).locks[wait.name].queue.retain(other);
            self.grant(wait.name);
        }
        self.release(task);
    }

    /// Grants to the first waiters of a name.
    fn grant(&mut self, name: usize) {
        loop {
            let mut world = lock(&self.truth);
            let lock = &mut world.locks[name];
            let used: u32 = lock.holders.iter().map(|holder| holder.2).sum();
            let Some(&(ticket, member, units)) = lock.queue.first() else {
                return;
            };
            if used + units > lock.capacity {
                return;
            }
            lock.queue.remove(0);
            lock.holders.push((ticket, member, units));
            drop(world);
            let mut tasks = self.tasks.iter();
            let of = |task: &Task| {
                task.waits
                    .as_ref()
                    .is_some_and(|wait| wait.ticket == ticket)
            };
            let task = tasks.position(of).unwrap();
            let wait = self.tasks[task].waits.take();
            assert!(wait.is_some_and(|wait| wait.units == units && wait.since <= self.now()));
            self.token += 1;
            let held = Held {
                client: self.clients[member],
                name,
                ticket,
                token: self.token,
                units,
                world: self.truth.clone(),
            };
            self.tasks[task].held.push(Arc::new(held));
            let busy = self.millis(self.shape.work);
            self.at(busy, Event::Step(task));
        }
    }

    fn release(&mut self, task: usize) {
        for held in std::mem::take(&mut self.tasks[task].held) {
            let still = |holder: &(Ticket, usize, u32)| holder.0 != held.ticket;
            lock(&self.truth).locks[held.name].holders.retain(still);
            self.grant(held.name);
        }
        let names = lock(&self.truth).locks.len();
        self.tasks[task].plan = self.plan(names);
        let pause = self.millis(self.shape.work);
        self.at(pause, Event::Step(task));
    }

    /// Returns the tasks that can never continue: removes tasks whose wait can end until none is left.
    fn truly_stuck(&self) -> Vec<usize> {
        let world = lock(&self.truth);
        let mut left: HashSet<usize> = (0..self.tasks.len()).collect();
        loop {
            let can_end = |task: &usize| {
                let Some(wait) = &self.tasks[*task].waits else {
                    return true;
                };
                let lock = &world.locks[wait.name];
                let kept: u32 = left
                    .iter()
                    .flat_map(|task| &self.tasks[*task].held)
                    .filter(|held| held.name == wait.name)
                    .map(|held| held.units)
                    .sum();
                let place = lock.queue.iter().position(|waiter| waiter.0 == wait.ticket);
                let upto = &lock.queue[..=place.unwrap()];
                upto.iter().all(|waiter| {
                    let over = |task: &usize| {
                        let waits = &self.tasks[*task].waits;
                        waits.as_ref().is_some_and(|wait| wait.ticket == waiter.0)
                    };
                    // A waiter whose task is not in `left` will be served, and its task will finish.
                    !left.iter().any(over) || kept + waiter.2 <= lock.capacity
                })
            };
            let ended: Vec<usize> = left.iter().filter(|task| can_end(task)).copied().collect();
            if ended.is_empty() {
                return left.into_iter().collect();
            }
            for task in ended {
                left.remove(&task);
            }
        }
    }

    /// Returns the holds of the tasks that can never continue.
    fn stuck_holds(&self) -> HashSet<Ticket> {
        let stuck = self.truly_stuck();
        let holds = stuck.iter().flat_map(|task| &self.tasks[*task].held);
        holds.map(|held| held.ticket).collect()
    }

    /// Checks that every deadlock is found in time.
    fn check_time(&mut self) {
        let holds = self.stuck_holds();
        if self.history.last().is_none_or(|(_, last)| *last != holds) {
            self.history.push((self.now(), holds.clone()));
        } else if let Some(last) = self.history.last_mut() {
            last.0 = lock(&self.truth).now;
        }
        // A task that gets stuck behind a reported deadlock is not part of it, so nothing reports that task.
        if self.shape.mode == Deadlock::Report && self.verdicts > 0 {
            return;
        }
        let now = self.now();
        let stuck: HashSet<usize> = self.truly_stuck().into_iter().collect();
        self.stuck.retain(|task, _| stuck.contains(task));
        // The time limit starts when the last of the tasks got stuck.
        for task in &stuck {
            if !self.stuck.contains_key(task) {
                self.stuck.insert(*task, now);
                self.stuck.values_mut().for_each(|since| *since = now);
            }
        }
        let calm = self.shape.lost + self.shape.late == 0;
        let limit = self.shape.after + Duration::from_secs(if calm { 1 } else { 60 });
        for (task, since) in &self.stuck {
            assert!(
                since.until(now) <= limit,
                "seed {:#x}: task {task} is deadlocked since {:?}",
                self.seed,
                since.until(now)
            );
        }
    }
}

/// The shapes: a network without losses, one with some late messages, and one with many lost and late messages.
fn shapes(mode: Deadlock) -> [Shape; 3] {
    [(0, 30, 0), (0, 10, 5), (20, 20, 10)].map(|(lost, doubled, late)| Shape {
        avoids: false,
        lost,
        doubled,
        late,
        way: 5,
        work: 400,
        after: Duration::from_secs(1),
        mode,
    })
}

fn schedules(count: u64, first: u64, shape: Shape) -> usize {
    let mut verdicts = 0;
    let first = first.wrapping_add(number("AUTO_MUTEX_SEED").unwrap_or(0));
    for seed in first..first + count {
        let mut world = World::new(seed, shape);
        // The run is long enough for several searches.
        world.run(shape.after * 20);
        verdicts += world.verdicts;
        if shape.avoids {
            assert_eq!(world.verdicts, 0, "seed {seed}");
        }
    }
    verdicts
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The number of schedules of a test: `count` times `AUTO_MUTEX_RUNS`. (`AUTO_MUTEX_SEED` is added to the first seed.)
fn runs(count: u64) -> u64 {
    count * number("AUTO_MUTEX_RUNS").unwrap_or(1)
}

#[test]
fn without_a_deadlock_none_is_reported() {
    let [calm, late, lossy] = shapes(Deadlock::Report);
    // The tasks that a search asks about continue during the search.
    let hasty = Shape {
        way: 20,
        work: 30,
        after: Duration::from_millis(10),
        ..calm
    };
    for (number, shape) in [calm, late, lossy, hasty, hasty].into_iter().enumerate() {
        let shape = Shape {
            avoids: true,
            ..shape
        };
        schedules(runs(4), (number as u64) << 32, shape);
    }
}

#[test]
fn every_deadlock_is_reported_once() {
    let found =
        shapes(Deadlock::Report).map(|shape| schedules(runs(4), 1 << 40 | shape.lost << 32, shape));
    assert!(
        found.iter().sum::<usize>() > 0,
        "these schedules test nothing"
    );
}

#[test]
fn one_call_fails_and_the_others_continue() {
    let found =
        shapes(Deadlock::Fail).map(|shape| schedules(runs(4), 2 << 40 | shape.lost << 32, shape));
    assert!(
        found.iter().sum::<usize>() > 0,
        "these schedules test nothing"
    );
}

/// Tasks of one client wait for one name, each inside its own lock.
#[test]
fn a_crowd_asks_each_question_once() {
    const CROWD: usize = 100;
    let mut dice = Dice(1);
    let (client, elsewhere, member) = (7, dice.ticket(), dice.member());
    let mut locks = vec![Lock {
        capacity: 1,
        holders: vec![(elsewhere, 1, 1)],
        ..Lock::default()
    }];
    for _ in 0..CROWD {
        locks[0].queue.push((dice.ticket(), 0, 1));
        locks.push(Lock {
            capacity: 1,
            holders: vec![(dice.ticket(), 0, 1)],
            ..Lock::default()
        });
    }
    let tickets: Vec<(Ticket, Ticket)> = (0..CROWD)
        .map(|task| (locks[0].queue[task].0, locks[task + 1].holders[0].0))
        .collect();
    let (began, after) = (
        Instant::START.after(Duration::from_secs(1)),
        Duration::from_secs(1),
    );
    let truth = Arc::new(Mutex::new(Truth {
        locks,
        now: began,
        failed: Vec::new(),
    }));
    let detector = Detector::new(client, engine::parse("memory://").expect("an engine"));
    let waits: Vec<Arc<TaskWait>> = tickets
        .into_iter()
        .enumerate()
        .map(|(task, (waits, holds))| {
            let waiting = Wait {
                mode: Deadlock::Report,
                name: 0,
                named: named(0),
                ticket: waits,
                units: 1,
                since: began,
                world: truth.clone(),
            };
            let held = Held {
                client,
                name: task + 1,
                ticket: holds,
                token: task as u64 + 1,
                units: 1,
                world: truth.clone(),
            };
            let wait = TaskWait::new(
                client,
                Deadlock::Report,
                Box::new(waiting),
                vec![Arc::new(held)],
            );
            detector.add(&wait, began, after);
            wait
        })
        .collect();
    let now = began.after(after);
    let todos = detector.tick(now);
    let [Todo::Inspect { round, name, above }] = &todos[..] else {
        panic!("{} questions to the store", todos.len());
    };
    assert_eq!(*name, named(0));
    assert_eq!(*above, 1, "no waiter of a mutex is in the way of another");
    let record = NameRecord {
        capacity: Some(1),
        holders: vec![record(elsewhere, member, 1)],
        ..NameRecord::default()
    };
    let todos = detector.inspected(*round, (name, *above), &record, now);
    let [
        Todo::Send {
            probe: Probe::Ask { round, tickets },
            ..
        },
    ] = &todos[..]
    else {
        panic!("{} questions to the holder", todos.len());
    };
    assert_eq!(*tickets, [elsewhere]);
    assert!(detector.tick(now).is_empty(), "one round at a time");
    let answer = Answer {
        round: *round,
        free: vec![elsewhere],
        ..Answer::default()
    };
    assert!(detector.answered(answer, now).is_empty());
    assert!(detector.next().unwrap() > now, "it rests");
    drop(waits);
}
