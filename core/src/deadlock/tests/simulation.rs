//! Random programs of many hosts in a [`World`]. Every deadlock must be found in time, and nothing else may ever be
//! reported, although messages are slow, connections break, and hosts stand still, are cut off, or die.
//!
//! The clients are real. A second, simple calculation over the whole world ([`Simulation::stuck`]) finds the tasks that
//! are really deadlocked. `AUTO_MUTEX_SEED` repeats a run, and `AUTO_MUTEX_RUNS` makes more.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::sleep;
use tracing::field::{Field, Visit};
use tracing::{Event, Metadata, Subscriber, span};

use crate::LockError;
use crate::base::name::Name;
use crate::base::sync::HashMap;
use crate::base::wait::{first, lock};
use crate::config::Deadlock;
use crate::locks::client::Client;
use crate::locks::handle::Guard;
use crate::queue::Hold;
use crate::store::NameRecord;
use crate::test_kit::{Happening, Operation, Runs, StoreErrorKind, World, run};

const OFTEN: Duration = Duration::from_millis(200);

/// The parameters of a program.
#[derive(Clone, Copy)]
struct Shape {
    /// A task whose wait would cause a deadlock gives up instead, so there is no deadlock.
    avoids: bool,
    faults: bool,
    /// The longest way of a message, and the longest work under a lock, in milliseconds.
    way: u64,
    work: u64,
    after: Duration,
    mode: Deadlock,
}

#[derive(Clone, Copy)]
enum Kind {
    Semaphore(u32),
    Mutex,
    RwLock,
}

const WRITER: u32 = 1 << 30;

/// What a task holds, and the lock and units that it waits for, with the number of the call.
#[derive(Default)]
struct Task {
    host: usize,
    holds: Vec<Arc<Hold>>,
    waits: Option<(usize, u32, u64)>,
}

/// A lock that a task holds: the name and the token.
type Held = (String, u64);

#[derive(Default)]
struct State {
    tasks: Vec<Task>,
    calls: u64,
    /// The deadlocked tasks, each with the time when the last of them got stuck.
    since: BTreeMap<usize, Duration>,
    /// The locks of deadlocked tasks, each set with the time until which it lasted.
    history: Vec<(Duration, BTreeSet<Held>)>,
    reported: BTreeSet<BTreeSet<Held>>,
    /// The deadlocks for which a call has yet to fail.
    failing: Vec<String>,
    events: usize,
    wrong: Option<String>,
}

struct Simulation {
    world: World,
    shape: Shape,
    locks: Vec<(Name, Kind)>,
    hosts: Vec<Client>,
    state: Mutex<State>,
}

impl Simulation {
    fn new(world: &World, shape: Shape) -> Arc<Self> {
        let some = |from: u64, to| from + world.random(to - from + 1);
        let locks = (0..some(2, 6)).map(|number| {
            let kind = match some(0, 4) {
                0 => Kind::RwLock,
                permits @ 2..4 => Kind::Semaphore(permits as u32),
                _ => Kind::Mutex,
            };
            (Name::from_escaped(&format!("n{number}")), kind)
        });
        let hosts = (0..some(2, 6)).map(|number| {
            let config = world.config(&format!("h{number}"));
            let config = config.deadlock(shape.mode).deadlock_after(shape.after);
            Client::connect(config).unwrap()
        });
        let (locks, hosts): (Vec<_>, Vec<_>) = (locks.collect(), hosts.collect());
        let host = |task| Task {
            host: task % hosts.len(),
            ..Task::default()
        };
        let tasks = (0..some(3, 10) as usize).map(host).collect();
        Arc::new(Self {
            world: world.clone(),
            shape,
            locks,
            hosts,
            state: Mutex::new(State {
                tasks,
                ..State::default()
            }),
        })
    }

    /// For how long the tasks begin new programs, and faults happen.
    fn is_busy(&self) -> bool {
        self.world.now() < self.shape.after.max(Duration::from_millis(100)) * 10
    }

    async fn work(&self) {
        let times = [1, 1, 1, 5][self.world.random(4) as usize];
        self.pause(self.shape.work * times).await;
    }

    async fn pause(&self, most: u64) {
        sleep(Duration::from_micros(self.world.random(most * 1000))).await;
    }

    fn capacity(&self, name: usize) -> u32 {
        match self.locks[name].1 {
            Kind::Semaphore(permits) => permits,
            Kind::Mutex => 1,
            Kind::RwLock => WRITER,
        }
    }

    /// Distinct names, each with units within its capacity.
    fn plan(&self) -> Vec<(usize, u32)> {
        let below = |options: usize| self.world.random(options as u64) as usize;
        let mut names: Vec<_> = (0..self.locks.len()).collect();
        let count = (1 + below(3)).min(names.len());
        let mut plan = Vec::new();
        for _ in 0..count {
            let name = names.swap_remove(below(names.len()));
            let capacity = self.capacity(name);
            let few = if capacity == WRITER {
                1
            } else {
                capacity.min(2)
            };
            plan.push((name, [1, 1, capacity, few][below(4)]));
        }
        plan
    }

    /// Takes locks one after the other, then releases all of them.
    async fn perform(self: Arc<Self>, task: usize) {
        while self.is_busy() {
            self.work().await;
            let mut held: Vec<Box<dyn Guard + Send + Sync>> = Vec::new();
            let end = End(self.clone(), task);
            for (name, units) in self.plan() {
                if !self.begin_wait(task, name, units) {
                    break;
                }
                let loss = async {
                    match held.first() {
                        Some(guard) => guard.holds().ended().await,
                        None => std::future::pending().await,
                    }
                    None
                };
                // Without a deadlock, some waits end all the same, and the task keeps its locks.
                let soon = self.shape.avoids && self.world.random(2) > 0;
                let block = Duration::from_millis(self.shape.work * if soon { 1 } else { 1000 });
                let taken = async { Some(self.take(task, name, units, block).await) };
                match first(loss, taken).await {
                    Some(Ok(guard)) => {
                        let mut state = lock(&self.state);
                        let task = &mut state.tasks[task];
                        task.waits = None;
                        task.holds.push(guard.holds().first().clone());
                        drop(state);
                        held.push(guard);
                    }
                    Some(Err(error)) if error.is_timeout() => {
                        lock(&self.state).tasks[task].waits = None;
                    }
                    Some(Err(error)) => {
                        self.failed(task, &error);
                        break;
                    }
                    None => break,
                }
                self.work().await;
            }
            drop(end);
        }
    }

    async fn take(
        &self,
        task: usize,
        name: usize,
        units: u32,
        block: Duration,
    ) -> Result<Box<dyn Guard + Send + Sync>, LockError> {
        let client = &self.hosts[lock(&self.state).tasks[task].host];
        let (name, kind) = &self.locks[name];
        let name = name.as_str();
        Ok(match kind {
            Kind::Mutex => Box::new(client.mutex(name).block(block).reentrant().lock().await?),
            Kind::Semaphore(permits) => {
                let semaphore = client.semaphore(name, *permits).block(block).reentrant();
                Box::new(semaphore.acquire_many(units).await?)
            }
            Kind::RwLock if units == 1 => {
                Box::new(client.rw_lock(name).block(block).reentrant().read().await?)
            }
            Kind::RwLock => Box::new(
                client
                    .rw_lock(name)
                    .block(block)
                    .reentrant()
                    .write()
                    .await?,
            ),
        })
    }

    /// Returns `false` if the task gives up because there would be a deadlock.
    fn begin_wait(&self, task: usize, name: usize, units: u32) -> bool {
        let mut state = lock(&self.state);
        state.calls += 1;
        state.tasks[task].waits = Some((name, units, state.calls));
        let gives_up = self.shape.avoids && !self.stuck(&state.tasks).is_empty();
        if gives_up {
            state.tasks[task].waits = None;
        }
        drop(state);
        self.check();
        !gives_up
    }

    fn failed(&self, task: usize, error: &LockError) {
        let LockError::Deadlock { cycle } = error else {
            return;
        };
        let (mut state, text) = (lock(&self.state), error.to_string());
        let task = &state.tasks[task];
        let waits = task.waits.map(|(name, ..)| self.locks[name].0.as_str());
        let holds = task
            .holds
            .iter()
            .any(|hold| hold.name().as_str() == cycle[0].holds);
        let is_own = holds && waits == Some(&cycle[0].waits_for);
        let known = state.failing.iter().position(|failing| *failing == text);
        match known.filter(|_| is_own) {
            Some(known) => drop(state.failing.remove(known)),
            None => state.wrong = Some(format!("an error of its own: {text}")),
        }
    }

    /// Breaks connections, cuts hosts off, stops them and kills one.
    async fn strike(self: Arc<Self>) {
        let mut may_kill = true;
        while self.is_busy() {
            self.world.delay(Duration::from_micros(
                self.world.random(self.shape.way * 1000),
            ));
            sleep(OFTEN / 4).await;
            if !self.shape.faults || self.world.random(8) > 0 {
                continue;
            }
            let host = &self.hosts[self.world.random(self.hosts.len() as u64) as usize];
            let most = [2000, 2000, 2000, 15_000][self.world.random(4) as usize];
            match self.world.random(8) {
                0 if std::mem::take(&mut may_kill) => drop(self.world.kill(host)),
                1 => {
                    self.world.disconnect(host);
                    self.pause(most).await;
                    self.world.reconnect(host);
                }
                2 => {
                    self.world.suspend(host);
                    self.pause(most).await;
                    self.world.resume(host);
                }
                _ => {
                    let error = StoreErrorKind::Disconnected;
                    drop(self.world.fail_next(Operation::Any, error));
                }
            }
        }
        self.world.delay(Duration::ZERO);
    }

    /// The tasks that can never continue: removes tasks whose wait can end until none is left.
    fn stuck(&self, tasks: &[Task]) -> BTreeSet<usize> {
        let mut left: BTreeSet<_> = (0..tasks.len()).collect();
        left.retain(|task| tasks[*task].waits.is_some());
        // The tasks that have nothing in front of them but others of `left`.
        let records = self.world.records();
        let queues: HashMap<_, _> = records
            .iter()
            .map(|(name, record)| (name, self.queue(tasks, name, record)))
            .collect();
        loop {
            let can_end = |task: &usize| {
                let Some((lock, ..)) = tasks[*task].waits else {
                    return true;
                };
                let name = &self.locks[lock].0;
                let holds = left.iter().flat_map(|task| &tasks[*task].holds);
                let here = holds.filter(|hold| hold.is_valid() && hold.name() == name);
                let kept: u32 = here.map(|hold| hold.weight()).sum();
                let upto = queues.get(name).map(|queue| queue[task].iter());
                let mut upto = upto
                    .into_iter()
                    .flatten()
                    .filter_map(|task| tasks[*task].waits);
                upto.all(|(_, units, _)| kept + units <= self.capacity(lock))
            };
            let stuck: BTreeSet<_> = left.iter().copied().filter(|task| !can_end(task)).collect();
            if stuck.len() == left.len() {
                return stuck;
            }
            left = stuck;
        }
    }

    /// For each task that waits for the lock, the tasks that get it before or with it.
    fn queue(
        &self,
        tasks: &[Task],
        name: &Name,
        record: &NameRecord,
    ) -> BTreeMap<usize, Vec<usize>> {
        let number = |task: &usize| tasks[*task].waits.map(|waits| waits.2);
        let mut all: Vec<usize> = (0..tasks.len()).collect();
        all.retain(|task| {
            tasks[*task]
                .waits
                .is_some_and(|waits| self.locks[waits.0].0 == *name)
        });
        all.sort_by_key(number);
        let of_host = |host| {
            all.iter()
                .copied()
                .filter(move |task| tasks[*task].host == host)
        };
        let mut queue = Vec::new();
        for waiter in record.waiters.iter().filter(|waiter| !waiter.passed_over) {
            let host = self
                .hosts
                .iter()
                .position(|host| self.world.id(host) == waiter.member);
            // The waiters of a host have its tickets in this order.
            let mut rest = host
                .into_iter()
                .flat_map(of_host)
                .filter(|task| !queue.contains(task));
            queue.extend(rest.next());
        }
        let before = |task: &usize| {
            let of_host =
                of_host(tasks[*task].host).take_while(|other| number(other) <= number(task));
            let own: Vec<_> = of_host.collect();
            let place = queue.iter().rposition(|other| own.contains(other));
            // A task without a ticket may come last.
            let upto = place.map_or(&all[..], |place| &queue[..=place]);
            (*task, upto.iter().copied().chain(own).collect())
        };
        all.iter().map(before).collect()
    }

    /// Notes who is deadlocked, and whether that was found in time.
    fn check(&self) {
        let (mut state, now) = (lock(&self.state), self.world.now());
        let state = &mut *state;
        let stuck = self.stuck(&state.tasks);
        let holds = stuck.iter().flat_map(|task| &state.tasks[*task].holds);
        let held = |hold: &Arc<Hold>| (hold.name().to_string(), hold.grant.token);
        let holds: BTreeSet<_> = holds.map(held).collect();
        state
            .history
            .retain(|past| now - past.0 < Duration::from_secs(4));
        match state.history.last_mut().filter(|last| last.1 == holds) {
            Some(last) => last.0 = now,
            None => state.history.push((now, holds)),
        }
        state.since.retain(|task, _| stuck.contains(task));
        if stuck.len() > state.since.len() {
            // The time limit starts when the last of the tasks got stuck.
            state.since = stuck.iter().map(|task| (*task, now)).collect();
        }
        // A task that gets stuck behind a reported deadlock is not part of it, so nothing reports that task.
        let is_known = self.shape.mode == Deadlock::Report && !state.reported.is_empty();
        let limit = self.shape.after + Duration::from_secs(if self.shape.faults { 60 } else { 1 });
        let late = |since: &&Duration| !is_known && now - **since > limit;
        if let Some(since) = state.since.values().find(late) {
            state.wrong = Some(format!("{stuck:?} are deadlocked since {since:?}"));
        }
    }

    /// Checks a deadlock that a client reports now.
    fn judge(&self, text: &str, fails: bool) {
        self.check();
        let (mut state, events) = (lock(&self.state), self.world.events());
        let events = &events[std::mem::replace(&mut state.events, events.len())..];
        let hops = events
            .iter()
            .filter(|event| event.what == Happening::Deadlock);
        let cycle: BTreeSet<Held> = hops
            .map(|hop| (hop.name.clone(), hop.token.unwrap_or_default()))
            .collect();
        // After a fault, the deadlock may have ended in the last seconds.
        let lately = if self.shape.faults { 3000 } else { 50 };
        let mut past = state.history.iter();
        let is_true = past.any(|(until, held)| {
            self.world.now() - *until < Duration::from_millis(lately) && cycle.is_subset(held)
        });
        let named = |(name, _): &Held| {
            text.contains(&format!("holds {name} since"))
                && text.contains(&format!("waits for {name} since"))
        };
        let is_new = !cycle.is_empty() && state.reported.insert(cycle.clone());
        if !is_true
            || !is_new
            || !cycle.iter().all(named)
            || fails != (self.shape.mode == Deadlock::Fail)
        {
            state.wrong = Some(format!("true: {is_true}, new: {is_new}: {cycle:?}: {text}"));
        }
        if fails {
            state.failing.push(text.to_owned());
        }
    }
}

/// The end of a task's program.
struct End(Arc<Simulation>, usize);

impl Drop for End {
    fn drop(&mut self) {
        let task = &mut lock(&self.0.state).tasks[self.1];
        (task.waits, task.holds) = (None, Vec::new());
    }
}

/// Gets the warnings of this thread.
struct Warned(Arc<Simulation>);

#[derive(Default)]
struct Warning {
    deadlock: Option<String>,
    fails: bool,
}

impl Visit for Warning {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.fails = self.fails || field.name() == "fails" && value;
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "deadlock" {
            self.deadlock = Some(format!("{value:?}"));
        }
    }
}

impl Subscriber for Warned {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.fields().field("deadlock").is_some()
    }

    fn event(&self, event: &Event<'_>) {
        let mut warning = Warning::default();
        event.record(&mut warning);
        if let Some(text) = warning.deadlock {
            self.0.judge(&text, warning.fails);
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Returns how many deadlocks were reported.
async fn simulate(world: World, shape: Shape) -> usize {
    let simulation = Simulation::new(&world, shape);
    let _warned = tracing::subscriber::set_default(Warned(simulation.clone()));
    tracing::callsite::rebuild_interest_cache();
    let tasks = lock(&simulation.state)
        .tasks
        .iter()
        .map(|task| task.host)
        .enumerate()
        .collect::<Vec<_>>();
    let works: Vec<_> = tasks
        .into_iter()
        .map(|(task, host)| world.on(&simulation.hosts[host], simulation.clone().perform(task)))
        .collect();
    tokio::spawn(simulation.clone().strike());
    let ends = if shape.mode == Deadlock::Report {
        shape.after * 20
    } else {
        Duration::MAX
    };
    while !works.iter().all(|work| work.is_finished()) && world.now() < ends {
        sleep(OFTEN).await;
        simulation.check();
        let wrong = lock(&simulation.state).wrong.take();
        assert_eq!(wrong, None);
    }
    let state = lock(&simulation.state);
    assert!(
        shape.faults || state.failing.is_empty(),
        "{:?}",
        state.failing
    );
    state.reported.len()
}

/// Runs `count` programs of each shape, times `AUTO_MUTEX_RUNS`.
fn programs(count: u64, shapes: &[Shape]) -> usize {
    let times = std::env::var("AUTO_MUTEX_RUNS").map_or(1, |times| times.parse().unwrap());
    let found = Mutex::new(0);
    for shape in shapes {
        run(Runs::new().seeds(count * times), async |world| {
            *lock(&found) += simulate(world, *shape).await;
        });
    }
    let found = *lock(&found);
    eprintln!("{found} found");
    found
}
const CALM: Shape = Shape {
    avoids: false,
    faults: false,
    way: 5,
    work: 400,
    after: Duration::from_secs(1),
    mode: Deadlock::Report,
};

const FAULTS: Shape = Shape {
    faults: true,
    ..CALM
};

#[test]
fn without_a_deadlock_none_is_reported() {
    // The tasks that a search asks about continue during the search.
    let hasty = Shape {
        way: 20,
        work: 30,
        after: Duration::from_millis(10),
        ..CALM
    };
    let shapes = [CALM, FAULTS, hasty].map(|shape| Shape {
        avoids: true,
        ..shape
    });
    assert_eq!(programs(4, &shapes), 0);
}

#[test]
fn every_deadlock_is_reported_once() {
    assert!(
        programs(4, &[CALM, FAULTS]) > 0,
        "these programs test nothing"
    );
}

#[test]
fn one_call_fails_and_the_others_continue() {
    let shapes = [CALM, FAULTS].map(|shape| Shape {
        mode: Deadlock::Fail,
        ..shape
    });
    assert!(programs(4, &shapes) > 0, "these programs test nothing");
}
