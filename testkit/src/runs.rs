//! [`run`]: runs a test once for each seed, and reports which one fails.

use std::any::Any;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, Once, OnceLock, Weak};

use auto_mutex_core::hook::Turn;
use auto_mutex_core::store::random_number;

use super::World;
use super::choices::Schedule;
use super::events::Event;
use super::gate::message;
use super::world::Shared;

/// The one seed to run.
const SEED: &str = "AUTO_MUTEX_SEED";
/// How many seeds to run, instead of the test's own number.
const SEEDS: &str = "AUTO_MUTEX_SEEDS";
/// The first seed, or `random`.
const START: &str = "AUTO_MUTEX_SEED_START";
/// How many events of a failed run are printed.
const EVENTS: usize = 40;
const NO_IO: &str = "A World has no sockets, signals and child processes, because virtual time would pass while they take real time. Await what is real within `world.real_time(…)` or `world.blocking(…)`, or replace it: by `tokio::io::duplex`, for example.";
const CAUSES: &str = "So a seed does not repeat a failure. The usual causes are `select!` without `biased;`, the order of a `HashMap`, tokio's `watch` and `Barrier`, which wake in a random order, random numbers, a static counter, and real time. If you can't avoid it: `#[auto_mutex::test(repeatable = false)]`, or `Runs::repeatable(false)`";
/// How many runs a search for a shorter schedule takes at most.
const SHORTENING_RUNS: usize = 300;

/// How often a test runs, with which seeds.
#[derive(Clone, Debug)]
#[must_use]
pub struct Runs {
    seeds: u32,
    repeatable: bool,
    shrink: bool,
}

impl Default for Runs {
    fn default() -> Self {
        Self {
            seeds: 1,
            repeatable: true,
            shrink: false,
        }
    }
}

impl Runs {
    /// One run.
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the test with the seeds from 0 to `seeds` − 1.
    pub fn seeds(mut self, seeds: u32) -> Self {
        self.seeds = seeds;
        self
    }

    /// Whether the first seed runs twice, and the test fails if the events of the two runs differ; `true` if left out.
    /// Set it to `false` for code that can't repeat itself: see [Seeds](super#seeds).
    pub fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    /// Whether to look for a shorter schedule when a run fails: one with fewer unusual choices. That takes up to 300
    /// runs.
    pub fn shrink(mut self, shrink: bool) -> Self {
        self.shrink = shrink;
        self
    }

    /// Those that the variables of the environment say, otherwise the test's own.
    pub(super) fn schedules(&self, variable: impl Fn(&str) -> Option<String>) -> Vec<Schedule> {
        if let Some(text) = variable(SEED) {
            let schedule = text.parse();
            let schedule = schedule
                .unwrap_or_else(|()| panic!("{SEED}={text} is no seed: write 17 or 17:31=2"));
            return vec![schedule];
        }
        let number = |name: &str| {
            let text = variable(name)?;
            let number = text.parse::<u64>();
            Some(number.unwrap_or_else(|_| panic!("{name}={text} is no number")))
        };
        let first = match variable(START).as_deref() {
            Some("random") => {
                let first = u64::from(random_number());
                eprintln!("{START}={first}");
                first
            }
            _ => number(START).unwrap_or(0),
        };
        let seeds = number(SEEDS).unwrap_or(u64::from(self.seeds));
        let all = first..first + seeds;
        all.map(|seed| Schedule { seed, only: None }).collect()
    }
}

/// What a test returns: nothing, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "a test cannot return `{Self}`",
    label = "return nothing, or a `Result<(), E>` whose `E` is `Debug`"
)]
pub trait Outcome {
    /// The error as a text.
    fn failure(self) -> Option<String>;
}

impl Outcome for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Debug> Outcome for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| format!("Error: {error:?}"))
    }
}

/// What is left of an outcome that can't leave its thread.
struct Ended(Option<String>);

impl Outcome for Ended {
    fn failure(self) -> Option<String> {
        self.0
    }
}

pub(super) struct Failure {
    pub(super) panic: Box<dyn Any + Send>,
    pub(super) schedule: Schedule,
    pub(super) unusual: BTreeMap<usize, u64>,
    events: Vec<Event>,
}

/// Runs an async test once for each seed, each time in a new [`World`] and a new runtime with a paused clock.
/// `#[auto_mutex::test]` calls it.
///
/// # Panics
///
/// If a run fails, after it has printed the seed and the last events. Also if it passes one of the
/// [limits](super#limits).
#[track_caller]
pub fn run<T: Outcome, F: Future<Output = T>>(runs: Runs, test: impl Fn(World) -> F) {
    let mut repeats = runs.repeatable;
    for schedule in runs.schedules(|name| env::var(name).ok()) {
        let attempt = || attempt(&schedule, &test);
        let events = attempt().unwrap_or_else(|failure| report(&runs, failure, &test));
        if std::mem::take(&mut repeats) {
            let again = attempt().unwrap_or_else(|failure| {
                eprintln!("The first run of this seed has passed. {CAUSES}");
                report(&runs, failure, &test)
            });
            check_same(&schedule, &events, &again);
        }
    }
}

/// Panics if two runs of a seed differ.
#[track_caller]
fn check_same(schedule: &Schedule, one: &[Event], other: &[Event]) {
    let all = 0..one.len().max(other.len());
    if let Some(at) = all.into_iter().find(|at| one.get(*at) != other.get(*at)) {
        let [one, other] = [one, other].map(|events| {
            let event = events.get(at).map(Event::to_string);
            event.unwrap_or_else(|| "nothing more".to_owned())
        });
        panic!(
            "two runs of the seed {schedule} differ in event {at}: `{one}`, then `{other}`. {CAUSES}",
        );
    }
}

/// Like [`run`], for a test with blocking code, which runs on a [thread](World::thread) of the World.
#[track_caller]
pub fn run_blocking<T: Outcome>(runs: Runs, test: impl Fn(World) -> T + Send + Sync + 'static) {
    let test = Arc::new(test);
    run(runs, |world| {
        let test = test.clone();
        Turn::new(move || Ended(test(world).failure()))
    });
}

pub(super) fn attempt<T: Outcome, F: Future<Output = T>>(
    schedule: &Schedule,
    test: &impl Fn(World) -> F,
) -> Result<Vec<Event>, Failure> {
    let here = Arc::new(OnceLock::<Weak<Shared>>::new());
    let of_threads = here.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        // Real sockets would lie, because virtual time passes meanwhile: without I/O, they panic.
        .enable_time()
        .start_paused(true)
        // Those of `spawn_blocking`.
        .on_thread_start(move || {
            if let Some(world) = of_threads.get().and_then(Weak::upgrade) {
                world.install_beside();
            }
        })
        .build()
        .expect("a runtime");
    let entered = runtime.enter();
    let world = World(Shared::new(schedule));
    drop((entered, here.set(Arc::downgrade(&world.0))));
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let mut test = pin!(test(world.clone()));
        let ended = runtime.block_on(poll_fn(|cx| {
            world.0.note_step();
            test.as_mut().poll(cx)
        }));
        if let Some(error) = ended.failure() {
            panic!("{error}");
        }
        world.0.check_hosts();
    }));
    while let Some(panic) = world.0.unknown_panic() {
        eprintln!("{panic}");
    }
    let (events, unusual) = (world.events(), world.0.unusual());
    // What runs on its hosts ends first.
    runtime.shutdown_background();
    drop(world);
    ended.map(|()| events.clone()).map_err(|panic| Failure {
        panic,
        schedule: schedule.clone(),
        unusual,
        events,
    })
}

#[track_caller]
fn report<T: Outcome, F: Future<Output = T>>(
    runs: &Runs,
    failure: Failure,
    test: &impl Fn(World) -> F,
) -> ! {
    let Failure {
        panic,
        schedule,
        unusual,
        events,
    } = failure;
    let last = events.len().saturating_sub(EVENTS);
    if last > 0 {
        eprintln!("… {last} earlier events");
    }
    events[last..].iter().for_each(|event| eprintln!("{event}"));
    if needs_io(&*panic) {
        eprintln!("{NO_IO}");
    }
    let name = std::thread::current();
    let name = name.name().unwrap_or_default();
    eprintln!("{SEED}={schedule} repeats this run: {SEED}={schedule} cargo test {name}");
    if runs.shrink && schedule.only.is_none() {
        eprintln!("looking for a shorter schedule");
        let shorter = shorten(schedule.seed, unusual, test);
        eprintln!("{SEED}={shorter} is a shorter schedule that fails");
    }
    resume_unwind(panic)
}

/// What tokio says of sockets, signals and processes in a runtime without them.
pub(super) fn needs_io(panic: &(dyn Any + Send)) -> bool {
    let said = |text| message(panic).contains(text);
    said("IO is disabled") || said("no signal driver")
}

/// Removes unusual choices as long as the run fails: first many at once, then single ones.
pub(super) fn shorten<T: Outcome, F: Future<Output = T>>(
    seed: u64,
    unusual: BTreeMap<usize, u64>,
    test: &impl Fn(World) -> F,
) -> Schedule {
    let schedule = |only: &[(usize, u64)]| Schedule {
        seed,
        only: Some(only.iter().copied().collect()),
    };
    be_quiet();
    let mut left: Vec<_> = unusual.into_iter().collect();
    let (mut size, mut runs) = (left.len(), 0);
    while size > 0 && runs < SHORTENING_RUNS {
        let mut at = 0;
        while at < left.len() && runs < SHORTENING_RUNS {
            let mut fewer = left.clone();
            fewer.drain(at..(at + size).min(left.len()));
            runs += 1;
            match attempt(&schedule(&fewer), test) {
                Err(_) => left = fewer,
                Ok(_) => at += size,
            }
        }
        size /= 2;
    }
    IS_QUIET.set(false);
    schedule(&left)
}

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Prints no panics of this thread, all of which are expected.
fn be_quiet() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                usual(info);
            }
        }));
    });
    IS_QUIET.set(true);
}
