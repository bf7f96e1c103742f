//! What an operator sees of tasks that wait for each other: the deadlocks that the library reports, and no others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use auto_mutex::operator::{Lock, Operator, Waits};
use tokio::sync::Barrier;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::prelude::*;

/// Asks about locks by name, on a thread that may wait.
#[derive(Clone)]
struct Eye(Arc<Operator>);

impl Eye {
    async fn on(store: &dyn TestStore) -> Self {
        let config = store.config();
        let operator = spawn_blocking(move || Operator::connect(config).unwrap());
        Self(Arc::new(operator.await.unwrap()))
    }

    async fn locks(&self, names: &'static [&'static str]) -> Vec<Lock> {
        let operator = self.0.clone();
        let names: Vec<_> = names.iter().map(|name| format!("suite:{name}")).collect();
        let asked = spawn_blocking(move || operator.inspect(&names).unwrap());
        let locks = asked.await.unwrap().into_iter();
        locks.map(Result::unwrap).collect()
    }

    async fn waits(&self, names: &'static [&'static str]) -> Waits {
        let (operator, locks) = (self.0.clone(), self.locks(names).await);
        let waits = spawn_blocking(move || operator.waits(locks).unwrap());
        waits.await.unwrap()
    }

    async fn has_waiters(&self, names: &'static [&'static str], count: usize) {
        becomes!("all of them wait", {
            let locks = self.locks(names).await;
            locks.iter().map(|lock| lock.waiters.len()).sum::<usize>() == count
        });
    }
}

fn members<const N: usize>(store: &dyn TestStore) -> [Client; N] {
    [(); N].map(|()| Client::connect(store.config().deadlock(Deadlock::Report)).unwrap())
}

/// The locks of each certain and each possible cycle.
fn cycles(waits: &Waits) -> [Vec<Vec<String>>; 2] {
    let chains = waits.chains();
    let names = |possible: bool| {
        let of = chains.iter().filter(move |chain| match possible {
            false => chain.cycle,
            true => chain.possible,
        });
        let names = of.map(|chain| {
            let mut names: Vec<_> = chain.hops.iter().map(|hop| hop.lock.name.clone()).collect();
            names.sort();
            names.dedup();
            names
        });
        names.collect()
    };
    [names(false), names(true)]
}

/// Spawns a task that takes the first lock by a protected call, and then waits for the second.
fn nested(
    client: &Client,
    outer: &'static str,
    inner: &'static str,
    all: &Arc<Barrier>,
) -> JoinHandle<()> {
    let (client, all) = (client.clone(), all.clone());
    tokio::spawn(async move {
        let body = async |_: &_| {
            all.wait().await;
            client.mutex(inner).lock().await.map(drop)
        };
        let _ = client.mutex(outer).synchronize(body).await;
    })
}

async fn over(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    for task in tasks {
        task.abort();
        let _ = soon("the task", task).await;
    }
}

pub(crate) async fn a_deadlock_is_certain(store: &dyn TestStore) {
    let (eye, all) = (Eye::on(store).await, Arc::new(Barrier::new(2)));
    let [a, b] = members(store);
    // Two tasks of two members, and of one.
    let locks: [&'static [&'static str; 2]; 2] = [&["x", "y"], &["v", "w"]];
    for ([one, other], names) in [[&a, &b], [&a, &a]].into_iter().zip(locks) {
        let [x, y] = *names;
        let tasks = [nested(one, x, y, &all), nested(other, y, x, &all)];
        eye.has_waiters(names, 2).await;
        let waits = eye.waits(names).await;
        let both = names.map(|name| format!("suite:{name}"));
        assert!(waits.to_lock(&both[0]).unwrap().cycle);
        assert_eq!(cycles(&waits), [vec![both.to_vec()], Vec::new()]);
        over(tasks).await;
    }
}

/// Two members seem to wait for each other, but through unrelated tasks.
pub(crate) async fn other_tasks_of_the_same_members_are_possible_only(store: &dyn TestStore) {
    let eye = Eye::on(store).await;
    let [a, b] = members(store);
    let held_x = a.mutex("x").lock().await.unwrap();
    let held_y = b.mutex("y").lock().await.unwrap();
    let wait = |client: &Client, name: &'static str| {
        let mutex = client.mutex(name);
        tokio::spawn(async move { mutex.lock().await.map(drop).unwrap_or_default() })
    };
    let tasks = [wait(&a, "y"), wait(&b, "x")];
    eye.has_waiters(&["x", "y"], 2).await;
    let [certain, possible] = cycles(&eye.waits(&["x", "y"]).await);
    assert_eq!((certain.len(), possible.len()), (0, 1));
    over(tasks).await;
    drop((held_x, held_y));
}

/// A deadlock elsewhere, even of the same members, does not affect a chain.
pub(crate) async fn a_chain_leads_to_its_root(store: &dyn TestStore) {
    let (eye, all) = (Eye::on(store).await, Arc::new(Barrier::new(3)));
    let [a, b, c, d] = members(store);
    let held = d.mutex("v").lock().await;
    let tasks = [
        nested(&a, "x", "y", &all),
        nested(&b, "y", "x", &all),
        nested(&c, "z", "v", &all),
    ];
    eye.has_waiters(&["x", "y", "v"], 3).await;
    let last = nested(&a, "w", "z", &Arc::new(Barrier::new(1)));
    eye.has_waiters(&["z"], 1).await;
    let waits = eye.waits(&["v", "x", "y", "z"]).await;
    assert_eq!(cycles(&waits)[0].len(), 1);
    let chain = waits.to_lock("suite:z").unwrap();
    let hops = chain.hops.iter();
    let hops = hops.map(|hop| (hop.depth, &*hop.lock.name, hop.possible));
    assert!(hops.eq([(0, "suite:v", false), (1, "suite:z", false)]));
    assert!(!chain.cycle);
    over(tasks.into_iter().chain([last])).await;
    drop(held);
}

/// Members that take the locks in one order, and each for a short time, never wait for each other.
pub(crate) async fn a_busy_service_has_no_cycle(store: &dyn TestStore) {
    const LOOKS: usize = 5;
    /// Long enough that the service leaves processor time to other tests.
    const BODY: Duration = Duration::from_millis(10);
    const NAMES: [&str; 3] = ["x", "y", "z"];
    let eye = Eye::on(store).await;
    let (ends, rounds) = <(Arc<AtomicBool>, Arc<AtomicUsize>)>::default();
    let mut tasks = Vec::new();
    for (number, client) in members::<6>(store).into_iter().enumerate() {
        let (ends, rounds) = (ends.clone(), rounds.clone());
        tasks.push(tokio::spawn(async move {
            let (first, second) = (number % 3, number % 2 + 1);
            while !ends.load(Ordering::Relaxed) {
                let body = async |_: &_| {
                    tokio::time::sleep(BODY).await;
                    if first < second {
                        drop(client.mutex(NAMES[second]).lock().await.unwrap());
                    }
                };
                client.mutex(NAMES[first]).synchronize(body).await.unwrap();
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    for _ in 0..LOOKS {
        let before = rounds.load(Ordering::Relaxed);
        let waits = eye.waits(&NAMES).await;
        assert_eq!(cycles(&waits)[0], Vec::<Vec<String>>::new());
        becomes!("the service works", rounds.load(Ordering::Relaxed) > before);
    }
    ends.store(true, Ordering::Relaxed);
    ended("the task", tasks).await;
}
