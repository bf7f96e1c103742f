//! Random programs of many hosts in a [`World`]. Every deadlock must be found in time, and nothing else may ever be
//! reported, although messages are slow, connections break, hosts stand still, are cut off, or die, and a stranger
//! sends messages.
//!
//! The clients are real. A second, simple calculation over the whole world ([`Simulation::stuck`]) finds the tasks that
//! are really deadlocked. `AUTO_MUTEX_SEED` repeats a run, and `AUTO_MUTEX_RUNS` makes more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::warnings::hear;
use crate::LockError;
use crate::base::name::Name;
use crate::base::sync::Mutex;
use crate::base::wait::{first, lock};
use crate::config::Deadlock;
use crate::locks::client::Client;
use crate::locks::handle::Guard;
use crate::queue::Hold;
use crate::store::MemberId;
use crate::test_kit::{Happening, Operation, Runs, StoreErrorKind, World, run};

const OFTEN: Duration = Duration::from_millis(200);
/// The capacity of a readers-writer lock, and the units of a writer.
const WRITER: u32 = 1 << 30;

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

#[derive(Default)]
struct Task {
    holds: Vec<Arc<Hold>>,
    /// The lock and units that it waits for, and the number of the call.
    waits: Option<(usize, u32, u64)>,
}

type Taken = Box<dyn Guard + Send + Sync>;

/// Holds, each as the name and the token.
type Holds = BTreeSet<(String, u64)>;

#[derive(Default)]
struct State {
    tasks: Vec<Task>,
    calls: u64,
    /// The deadlocked tasks, each with the time when the last of them got stuck.
    since: BTreeMap<usize, Duration>,
    /// What deadlocked tasks held, with the time until which it lasted.
    history: Vec<(Duration, Holds)>,
    reported: BTreeSet<Holds>,
    /// The deadlocks for which a call has yet to fail.
    failing: Vec<String>,
    events: usize,
    wrong: Option<String>,
}

struct Simulation {
    world: World,
    shape: Shape,
    /// The names and capacities.
    locks: Vec<(String, u32)>,
    hosts: Vec<(Client, MemberId)>,
    state: Mutex<State>,
}

impl Simulation {
    fn new(world: &World, shape: Shape) -> Self {
        let some = |from, to| from + world.random(to - from + 1);
        let capacities = [1, 2, 3, 3, WRITER];
        let name = |number| (format!("n{number}"), capacities[some(0, 4) as usize]);
        let host = |number| {
            let config = world.config(&format!("h{number}")).deadlock(shape.mode);
            let client = Client::connect(config.deadlock_after(shape.after)).unwrap();
            let id = world.id(&client);
            (client, id)
        };
        Self {
            world: world.clone(),
            shape,
            locks: (0..some(2, 6)).map(name).collect(),
            hosts: (0..some(2, 6)).map(host).collect(),
            state: Mutex::default(),
        }
    }

    fn host(&self, task: usize) -> &(Client, MemberId) {
        &self.hosts[task % self.hosts.len()]
    }

    /// Whether tasks begin new programs, and faults happen.
    fn is_busy(&self) -> bool {
        self.world.now() < (self.shape.after * 10).max(Duration::from_secs(1))
    }

    async fn pause(&self, most: u64) {
        sleep(Duration::from_micros(self.world.random(most * 1000))).await;
    }

    async fn work(&self) {
        let times = [1, 1, 1, 5][self.world.random(4) as usize];
        self.pause(self.shape.work * times).await;
    }

    /// Distinct locks, each with units within its capacity.
    fn plan(&self) -> Vec<(usize, u32)> {
        let below = |options: usize| self.world.random(options as u64) as usize;
        let mut all: Vec<_> = (0..self.locks.len()).collect();
        let count = (1 + below(3)).min(all.len());
        let next = |_| {
            let name = all.swap_remove(below(all.len()));
            let capacity = self.locks[name].1;
            let two = if capacity == 3 { 2 } else { 1 };
            (name, [1, 1, two, capacity][below(4)])
        };
        (0..count).map(next).collect()
    }

    /// Takes locks one after the other, then releases all of them.
    async fn program(&self, task: usize) {
        let mut held: Vec<Taken> = Vec::new();
        let _ends = Ends(self, task);
        for (name, units) in self.plan() {
            if !self.begin_wait(task, name, units) {
                return;
            }
            let loss = async {
                match held.first() {
                    Some(guard) => guard.holds().ended().await,
                    None => std::future::pending().await,
                }
                None
            };
            let taken = async { Some(self.take(task, name, units).await) };
            if !self.taken(task, first(loss, taken).await, &mut held) {
                return;
            }
            self.work().await;
        }
    }

    /// Returns whether the task goes on.
    fn taken(
        &self,
        task: usize,
        taken: Option<Result<Taken, LockError>>,
        held: &mut Vec<Taken>,
    ) -> bool {
        if let Some(Err(error)) = &taken {
            self.failed(task, error);
        }
        let task = &mut lock(&self.state).tasks[task];
        task.waits = None;
        match taken {
            Some(Ok(guard)) => {
                task.holds.push(guard.holds().first().clone());
                held.push(guard);
                true
            }
            other => other.is_some_and(|taken| taken.is_err_and(|error| error.is_timeout())),
        }
    }

    async fn take(&self, task: usize, name: usize, units: u32) -> Result<Taken, LockError> {
        let (client, _) = self.host(task);
        let (name, capacity) = &self.locks[name];
        // Where no deadlock ends waits, time does.
        let soon = self.shape.avoids && self.world.random(2) > 0;
        let block = Duration::from_millis(self.shape.work * if soon { 1 } else { 1000 });
        macro_rules! take {
            ($handle:expr, $take:ident($($units:expr)?)) => {
                Box::new($handle.block(block).reentrant().$take($($units)?).await?)
            };
        }
        Ok(match (*capacity, units) {
            (1, _) => take!(client.mutex(name), lock()),
            (WRITER, 1) => take!(client.rw_lock(name), read()),
            (WRITER, _) => take!(client.rw_lock(name), write()),
            (permits, _) => take!(client.semaphore(name, permits), acquire_many(units)),
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

    /// Checks that a call that fails is that of the warning.
    fn failed(&self, task: usize, error: &LockError) {
        let LockError::Deadlock { cycle, .. } = error else {
            return;
        };
        let (mut state, text) = (lock(&self.state), error.to_string());
        let Task { holds, waits, .. } = &state.tasks[task];
        let waits = waits.map(|(name, ..)| self.locks[name].0 == cycle[0].waits_for);
        let mut holds = holds.iter().map(|hold| hold.name().as_str());
        let is_own = waits == Some(true) && holds.any(|name| name == cycle[0].holds);
        let known = state.failing.iter().position(|failing| *failing == text);
        match known.filter(|_| is_own) {
            Some(known) => drop(state.failing.remove(known)),
            None => state.wrong = Some(format!("not the call of the warning: {text}")),
        }
    }

    /// Breaks connections, cuts hosts off, stops them and kills them.
    async fn strike(&self) {
        let world = &self.world;
        while self.is_busy() {
            world.delay(Duration::from_micros(world.random(self.shape.way * 1000)));
            sleep(OFTEN / 2).await;
            drop(world.forge());
            if !self.shape.faults || world.random(3) > 0 {
                continue;
            }
            let (host, _) = self.host(world.random(100) as usize);
            drop(match world.random(20) {
                0 => world.kill(host),
                1..4 => world.disconnect(host),
                4..7 => world.suspend(host),
                _ => world.fail_next(Operation::Any, StoreErrorKind::Disconnected),
            });
            self.pause([50, 50, 50, 2000, 15_000][world.random(5) as usize])
                .await;
            drop((world.reconnect(host), world.resume(host)));
        }
        world.delay(Duration::ZERO);
    }

    /// The tasks that can never continue: removes tasks whose wait can end until none is left.
    fn stuck(&self, tasks: &[Task]) -> BTreeSet<usize> {
        let records = self.world.records();
        let waits = |task: &usize| tasks[*task].waits.unwrap_or_default();
        let mut waiting: Vec<_> = (0..tasks.len()).collect();
        waiting.retain(|task| tasks[*task].waits.is_some());
        waiting.sort_by_key(|task| waits(task).2);
        // For each waiting task, the most units that it or one that is served before it asks for.
        let most = waiting.iter().map(|task| {
            let (id, name) = (self.host(*task).1, waits(task).0);
            let here = waiting.iter().filter(|other| waits(other).0 == name);
            let of_host = |id| here.clone().filter(move |task| self.host(**task).1 == id);
            let record = |(other, _): &&(Name, _)| other.as_str() == self.locks[name].0;
            let record = records.iter().find(record).into_iter();
            let mut queue = Vec::new();
            for waiter in record.flat_map(|record| &record.1.waiters) {
                // The waiters of a host have its tickets in their order.
                let next = of_host(waiter.member).find(|task| !queue.contains(task));
                queue.extend(next.filter(|_| !waiter.passed_over));
            }
            let own = of_host(id).filter(|other| waits(other).2 <= waits(task).2);
            let mut before: Vec<_> = own.collect();
            match queue.iter().rposition(|other| before.contains(other)) {
                Some(place) => before.extend(&queue[..=place]),
                // Its request is on its way, and may come last.
                None => before.extend(here.clone()),
            }
            let most = before.into_iter().map(|task| waits(task).1).max();
            (*task, most.unwrap_or_default())
        });
        let most: BTreeMap<_, _> = most.collect();
        let mut left: BTreeSet<_> = waiting.iter().copied().collect();
        loop {
            let never_ends = |task: &usize| {
                let (name, capacity) = &self.locks[waits(task).0];
                let holds = left.iter().flat_map(|task| &tasks[*task].holds);
                let here = holds.filter(|hold| hold.is_valid() && hold.name().as_str() == name);
                here.map(|hold| hold.weight()).sum::<u32>() + most[task] > *capacity
            };
            let stuck: BTreeSet<_> = left.iter().copied().filter(never_ends).collect();
            if stuck.len() == left.len() {
                return stuck;
            }
            left = stuck;
        }
    }

    /// Notes who is deadlocked, and whether that was found in time.
    fn check(&self) {
        let (mut state, now) = (lock(&self.state), self.world.now());
        let stuck = self.stuck(&state.tasks);
        let holds = stuck.iter().flat_map(|task| &state.tasks[*task].holds);
        let holds = holds.map(|hold| (hold.name().to_string(), hold.grant.token));
        let holds: Holds = holds.collect();
        state.history.push((now, holds));
        state
            .history
            .retain(|past| now - past.0 < Duration::from_secs(4));
        state.since.retain(|task, _| stuck.contains(task));
        if stuck.len() > state.since.len() {
            // The time limit starts when the last of the tasks got stuck.
            state.since = stuck.iter().map(|task| (*task, now)).collect();
        }
        // A task that gets stuck behind a reported deadlock is not part of it, so nothing reports that task.
        let is_over = self.shape.mode == Deadlock::Report && !state.reported.is_empty();
        let limit = self.shape.after + Duration::from_secs(if self.shape.faults { 60 } else { 1 });
        let is_late = state.since.values().any(|since| now - *since > limit);
        if is_late && !is_over {
            state.wrong = Some(format!("still deadlocked: {:?}", state.since));
        }
    }

    /// Checks a deadlock that a client reports now.
    fn judge(&self, text: &str, fails: bool) {
        self.check();
        let (mut state, events) = (lock(&self.state), self.world.events());
        let new = events[state.events..].iter();
        let cycle: Holds = new
            .filter(|event| event.what == Happening::Deadlock)
            .map(|event| (event.name.clone(), event.token.unwrap_or(0)))
            .collect();
        state.events = events.len();
        // It may have ended in the last moments; after a fault, in the last seconds.
        let lately = Duration::from_millis(if self.shape.faults { 3000 } else { 50 });
        let since = self.world.now().saturating_sub(lately);
        let mut past = state.history.iter().filter(|past| past.0 >= since);
        let is_true = past.any(|(_, holds)| cycle.is_subset(holds));
        let has = |name: &str, part: &str| text.contains(&format!("{part} {name} for"));
        let is_told = cycle
            .iter()
            .all(|(name, _)| has(name, "held") && has(name, "waited for"));
        let is_new = !cycle.is_empty() && state.reported.insert(cycle);
        if !(is_true && is_told && is_new && fails == (self.shape.mode == Deadlock::Fail)) {
            state.wrong = Some(format!("true: {is_true}, new: {is_new}, {text}"));
        }
        state.failing.extend(fails.then(|| text.to_owned()));
    }
}

/// The end of a task's program.
struct Ends<'a>(&'a Simulation, usize);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        let task = &mut lock(&self.0.state).tasks[self.1];
        (task.waits, task.holds) = (None, Vec::new());
    }
}

/// Returns how many deadlocks were reported.
async fn simulate(world: World, shape: Shape) -> usize {
    let simulation = Arc::new(Simulation::new(&world, shape));
    let judge = simulation.clone();
    let _told = hear(move |text, fails| judge.judge(text, fails));
    let works = (0..3 + world.random(8) as usize).map(|task| {
        lock(&simulation.state).tasks.push(Task::default());
        let works = simulation.clone();
        world.on(&simulation.host(task).0, async move {
            while works.is_busy() {
                works.work().await;
                works.program(task).await;
            }
        })
    });
    let works: Vec<_> = works.collect();
    let strikes = simulation.clone();
    tokio::spawn(async move { strikes.strike().await });
    // Nothing ends a deadlock that is only reported.
    let is_over = || shape.mode == Deadlock::Report && world.now() > shape.after * 20;
    while !works.iter().all(|work| work.is_finished()) && !is_over() {
        sleep(OFTEN).await;
        simulation.check();
        assert_eq!(lock(&simulation.state).wrong, None);
    }
    let state = lock(&simulation.state);
    // A call may have ended otherwise, by a fault.
    assert!(
        shape.faults || state.failing.is_empty(),
        "{:?}",
        state.failing
    );
    state.reported.len()
}

/// Runs `count` programs of each shape, times `AUTO_MUTEX_RUNS`. Returns how many deadlocks were reported.
fn programs(count: u32, avoids: bool, mode: Deadlock) -> usize {
    let times = std::env::var("AUTO_MUTEX_RUNS").map_or(1, |times| times.parse().unwrap());
    let found = Mutex::new(0);
    // In the last one, the tasks that a search asks about continue during the search.
    for (faults, way, work, after) in [
        (false, 5, 400, 1000),
        (true, 5, 400, 1000),
        (false, 20, 30, 10),
    ] {
        let shape = Shape {
            avoids,
            faults,
            way,
            work,
            after: Duration::from_millis(after),
            mode,
        };
        run(Runs::new().seeds(count * times), async |world| {
            let reported = simulate(world, shape).await;
            *lock(&found) += reported;
        });
    }
    *lock(&found)
}

#[test]
fn without_a_deadlock_none_is_reported() {
    assert_eq!(programs(2, true, Deadlock::Report), 0);
}

#[test]
fn every_deadlock_is_reported_once() {
    assert!(
        programs(2, false, Deadlock::Report) > 0,
        "they test nothing"
    );
}

#[test]
fn one_call_fails_and_the_others_continue() {
    assert!(programs(2, false, Deadlock::Fail) > 0, "they test nothing");
}
