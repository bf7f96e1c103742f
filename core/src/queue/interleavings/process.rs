//! Processes on one store and one clock; each is a member with its background thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use super::witness::Witness;
use crate::base::clock::{self, Instant, by_hand};
use crate::base::name::Name;
use crate::config::Config;
use crate::queue::ClientCore;
use crate::store::engine::Driver as _;
use crate::store::{Events, MemberId, RandomId, Store as _};
use auto_mutex_memory::{Heard, MemoryStore};

/// Budgets of local handoffs: how many, and for how long.
const HANDOFFS: [(u32, Duration); 3] = [
    (0, Duration::ZERO),
    (1, Duration::from_millis(5)),
    (100, Duration::from_millis(5)),
];

/// Some processes that share a store and a lock.
pub(super) struct Cluster {
    pub(super) processes: Vec<Process>,
    pub(super) witness: Arc<Witness>,
}

/// One client in one process.
pub(super) struct Process {
    pub(super) member: Arc<ClientCore>,
    pub(super) name: Name,
    pub(super) store: Arc<MemoryStore>,
    engine: thread::JoinHandle<()>,
}

impl Cluster {
    /// Starts processes with the same handoff budget, which the schedule chooses.
    pub(super) fn of(processes: usize) -> Self {
        // Stores of one name are shared by all tests of this program, so each cluster needs its own name.
        static STORES: AtomicU64 = AtomicU64::new(0);
        let store = format!("interleavings {}", STORES.fetch_add(1, Ordering::Relaxed));
        by_hand::set(Instant::from_nanos(1_000_000_000_000));
        let handoff = HANDOFFS[thread_rng().gen_range(0..HANDOFFS.len())];
        let start = |_| Process::start(&store, handoff);
        Self {
            processes: (0..processes).map(start).collect(),
            witness: Witness::new(handoff),
        }
    }

    /// Like [`of`](Self::of), but no hold may be lost.
    pub(super) fn calm(processes: usize) -> Self {
        let cluster = Self::of(processes);
        cluster.witness.expects_calm();
        cluster
    }

    pub(super) fn any(&self) -> &Process {
        &self.processes[thread_rng().gen_range(0..self.processes.len())]
    }

    /// Advances the clock, and wakes the background threads.
    pub(super) fn pass(&self, time: Duration) {
        by_hand::set(clock::now().after(time));
        for process in &self.processes {
            process.member.timers.interrupt();
        }
    }

    /// Checks that nothing is left, and ends the background threads. Call it when all callers have been served or have
    /// given up.
    pub(super) fn end(self) {
        for process in &self.processes {
            let done = process.member.with_queue(&process.name, |local| {
                Some(local.lock().state.is_over(Instant::START))
            });
            assert!(
                !matches!(done, Ok(false)),
                "something stayed behind in the queue"
            );
        }
        for process in &self.processes {
            let flushed = process.member.shut_down(Duration::from_secs(1));
            assert!(flushed, "something was not answered");
        }
        self.ended();
    }

    /// Waits for the background threads to end, and checks that the stores are idle.
    pub(super) fn ended(self) {
        for Process { store, engine, .. } in self.processes {
            engine.join().unwrap();
            assert!(store.is_idle(), "something stayed behind in the store");
        }
    }
}

/// Runs `each` in `threads` threads at the same time, until all threads have ended.
pub(super) fn beside_each_other(
    cluster: Cluster,
    threads: usize,
    each: impl Fn(&Cluster, usize) + Send + Sync + 'static,
) -> Cluster {
    let shared = Arc::new((cluster, each));
    let start = |number| {
        let shared = shared.clone();
        thread::spawn(move || shared.1(&shared.0, number))
    };
    let threads: Vec<_> = (0..threads).map(start).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let shared = Arc::into_inner(shared);
    shared.expect("nobody else has it any more").0
}

impl Process {
    fn start(store: &str, (times, time): (u32, Duration)) -> Self {
        let config = Config::new("memory://")
            .unwrap()
            .lease("9s")
            .store_timeout("1000s");
        let settings = config.local_handoff(times, time).validate().unwrap();
        let id = MemberId::random();
        let (store, driver) = MemoryStore::open(Some(store), id);
        let member = ClientCore::new(settings, store.clone(), id);
        let (of_engine, its_store) = (member.clone(), store.clone());
        Self {
            member,
            name: Name::from_escaped("interleavings:name"),
            store,
            engine: thread::spawn(move || background(&of_engine, &its_store, driver)),
        }
    }
}

/// Runs the store's driver and the member's timers as the real engine does, except that timers wait for
/// [`Cluster::pass`] or an interrupt instead of the system clock.
fn background(member: &Arc<ClientCore>, store: &MemoryStore, driver: Heard) {
    let events: Arc<dyn Events> = member.clone();
    let ticks = async {
        while !member.is_closed() {
            member.tick();
            member.timers.wait(None).await;
        }
        store.close();
    };
    shuttle::future::block_on(async { tokio::join!(Box::new(driver).run(events), ticks) });
    member.abandon();
}
