//! Tasks that wait for each other: one call fails, and no other call does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::sync::Barrier;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::prelude::*;

/// `Config::deadlock_after`. It is short, so that the tests take little time. On a busy machine a search may find
/// nothing, but a later one does.
const AFTER: Duration = Duration::from_millis(100);
/// Long enough for several searches.
const SEARCHES: Duration = Duration::from_millis(800);

type Taken = Result<(), LockError>;

fn member(store: &dyn TestStore, deadlock: Deadlock) -> Client {
    let config = store.config().deadlock(deadlock).deadlock_after(AFTER);
    Client::connect(config).unwrap()
}

fn members<const N: usize>(store: &dyn TestStore) -> [Client; N] {
    std::array::from_fn(|_| member(store, Deadlock::Fail))
}

fn barrier(tasks: usize) -> Arc<Barrier> {
    Arc::new(Barrier::new(tasks))
}

/// Takes a lock in a body under `outer`, after all tasks have come so far.
async fn under(outer: Mutex, all: Arc<Barrier>, inner: impl Future<Output = Taken>) -> Taken {
    let body = async |_: &_| {
        all.wait().await;
        inner.await
    };
    outer.synchronize(body).await?
}

/// The same in a task of its own, with two mutexes.
fn nested(
    client: &Client,
    outer: &'static str,
    inner: &'static str,
    all: &Arc<Barrier>,
) -> JoinHandle<Taken> {
    let (outer, inner, all) = (client.mutex(outer), client.mutex(inner), all.clone());
    tokio::spawn(under(
        outer,
        all,
        async move { inner.lock().await.map(drop) },
    ))
}

/// Returns the hops of the only failure: the lock that each task holds, and the lock that it waits for.
async fn only_failure(tasks: impl IntoIterator<Item = JoinHandle<Taken>>) -> Vec<[String; 2]> {
    let results = ended("the task", tasks).await.into_iter();
    let failed: Vec<_> = results.filter_map(Result::err).collect();
    let [error @ LockError::Deadlock { cycle, .. }] = &failed[..] else {
        panic!("{failed:?}");
    };
    assert_eq!(error.name(), Some(&*cycle[0].waits_for));
    for (hop, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
        assert_eq!(hop.waits_for, next.holds, "{error}");
        let holder = hop.holder.as_ref().unwrap();
        let pid = format!("{}@", holder.pid);
        assert!(error.to_string().contains(&pid), "{error}");
        let place = format!("{}:{}", holder.file().unwrap(), holder.line().unwrap());
        assert!(error.to_string().contains(&place), "{error}");
    }
    let hops = cycle.iter();
    hops.map(|hop| [hop.holds.clone(), hop.waits_for.clone()])
        .collect()
}

/// Runs tasks that each hold their first lock and wait for their second. Returns the hops of the failure.
async fn cycle(clients: &[Client], locks: &[(&'static str, &'static str)]) -> Vec<[String; 2]> {
    let all = barrier(locks.len());
    let tasks = clients.iter().cycle().zip(locks);
    let tasks = tasks.map(|(client, (outer, inner))| nested(client, outer, inner, &all));
    only_failure(tasks.collect::<Vec<_>>()).await
}

pub(crate) async fn two_members_in_opposite_order(store: &dyn TestStore) {
    let clients: [Client; 2] = members(store);
    let hops = cycle(&clients, &[("x", "y"), ("y", "x")]).await;
    let [x, y] = ["suite:x", "suite:y"].map(str::to_owned);
    let expected = [[x.clone(), y.clone()], [y, x]];
    let turned = hops.iter().rev().eq(&expected);
    assert!(hops == expected || turned, "{hops:?}");
    // Two tasks of one member.
    let hops = cycle(&clients[..1], &[("x", "y"), ("y", "x")]).await;
    assert_eq!(hops.len(), 2);
    // A task may use two clients.
    let ([a, b], all) = (clients, barrier(2));
    let inner = members::<1>(store)[0].mutex("y");
    let inner = async move { inner.lock().await.map(drop) };
    let first = tokio::spawn(under(a.mutex("x"), all.clone(), inner));
    let second = nested(&b, "y", "x", &all);
    assert_eq!(only_failure([first, second]).await.len(), 2);
}

pub(crate) async fn a_cycle_of_five(store: &dyn TestStore) {
    let locks = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")];
    assert_eq!(cycle(&members::<3>(store), &locks).await.len(), 5);
}

/// A task that waits behind the cycle is not part of it, and gets its lock.
pub(crate) async fn who_waits_behind_a_deadlock_does_not_fail(store: &dyn TestStore) {
    let clients = members::<3>(store);
    let behind = nested(&clients[2], "z", "x", &barrier(1));
    let hops = cycle(&clients[..2], &[("x", "y"), ("y", "x")]).await;
    assert_eq!(hops.len(), 2);
    soon("the one behind", behind).await.unwrap().unwrap();
}

/// A long wait in a chain is no deadlock.
pub(crate) async fn a_chain_is_none(store: &dyn TestStore) {
    let [a, b, c] = members(store);
    let last = c.mutex("z").lock().await.unwrap();
    let first = nested(&a, "x", "y", &barrier(1));
    let second = nested(&b, "y", "z", &barrier(1));
    sleep(SEARCHES).await;
    drop(last);
    soon("the second", second).await.unwrap().unwrap();
    soon("the first", first).await.unwrap().unwrap();
}

pub(crate) async fn threads_are_tasks_too(store: &dyn TestStore) {
    let inside = Arc::new(AtomicU32::new(0));
    let threads = members::<2>(store).into_iter();
    let threads = threads.zip([("x", "y"), ("y", "x")]);
    let threads = threads.map(|(client, (outer, inner))| {
        let inside = inside.clone();
        store.thread(move || {
            client.mutex(outer).blocking_synchronize(|_| {
                inside.fetch_add(1, Ordering::Relaxed);
                eventually("both", || inside.load(Ordering::Relaxed) == 2);
                client.mutex(inner).blocking_lock().map(drop)
            })?
        })
    });
    assert_eq!(only_failure(threads.collect::<Vec<_>>()).await.len(), 2);
}

/// The writer waits for a reader, and the reader waits for the writer's other lock.
pub(crate) async fn readers_and_writers(store: &dyn TestStore) {
    let ([a, b], all) = (members(store), barrier(2));
    let other = all.clone();
    let reader = tokio::spawn(async move {
        let body = async |_: &_| {
            other.wait().await;
            a.mutex("m").lock().await.map(drop)
        };
        a.rw_lock("l").synchronize_read(body).await?
    });
    let lock = b.rw_lock("l");
    let inner = async move { lock.write().await.map(drop) };
    let writer = tokio::spawn(under(b.mutex("m"), all, inner));
    assert_eq!(only_failure([reader, writer]).await.len(), 2);
}

/// The waiter needs one of two permits, and the holder of the other one is still running: no deadlock.
pub(crate) async fn a_permit_that_comes_back_is_enough(store: &dyn TestStore) {
    let ([a, b, c], all) = (members(store), barrier(2));
    let running = c.semaphore("s", 2).acquire().await.unwrap();
    let other = all.clone();
    let first = tokio::spawn(async move {
        let body = async |_: &_| {
            other.wait().await;
            a.mutex("m").lock().await.map(drop)
        };
        a.semaphore("s", 2).synchronize(body).await?
    });
    let semaphore = b.semaphore("s", 2);
    let inner = async move { semaphore.acquire().await.map(drop) };
    let second = tokio::spawn(under(b.mutex("m"), all, inner));
    sleep(SEARCHES).await;
    drop(running);
    soon("the second", second).await.unwrap().unwrap();
    soon("the first", first).await.unwrap().unwrap();
}

/// A call for several locks holds those it has already taken, so it can be part of a deadlock.
pub(crate) async fn a_call_for_several_locks_is_a_part(store: &dyn TestStore) {
    let [a, b, observer] = members(store);
    let (all, ready) = (barrier(2), barrier(2));
    let (inside, other, goes_on) = (ready.clone(), b.mutex("x"), all.clone());
    let inner = async move {
        goes_on.wait().await;
        other.lock().await.map(drop)
    };
    let outer = tokio::spawn(under(b.mutex("y"), inside, inner));
    ready.wait().await;
    let several = with(
        &a,
        |a| async move { a.multi(["x", "y"]).lock().await.map(drop) },
    );
    becomes!(
        "it has the first",
        observer.mutex("x").is_locked().await.unwrap()
    );
    all.wait().await;
    assert_eq!(only_failure([several, outer]).await.len(), 2);
}

/// Tasks of one owner share a hold, and each of them can be part of a deadlock.
pub(crate) async fn an_owner_is_a_part_in_each_of_its_tasks(store: &dyn TestStore) {
    let ([a, b], all) = (members(store), barrier(3));
    let owned = a.mutex("x").owner("o");
    let idle = tokio::spawn(under(owned.clone(), all.clone(), async { Ok(()) }));
    let inner = async move { a.mutex("y").lock().await.map(drop) };
    let waits = tokio::spawn(under(owned, all.clone(), inner));
    let outer = nested(&b, "y", "x", &all);
    soon("the idle one", idle).await.unwrap().unwrap();
    assert_eq!(only_failure([waits, outer]).await.len(), 2);
}

/// Takes the lock `outer` by hand, waits until all tasks have done so, then takes `inner`.
fn by_hand(outer: Mutex, inner: Mutex, all: &Arc<Barrier>) -> JoinHandle<Taken> {
    with(all, |all| async move {
        let _guard = outer.lock().await?;
        all.wait().await;
        inner.lock().await.map(drop)
    })
}

pub(crate) async fn guards_of_reentrant_handles_are_a_part(store: &dyn TestStore) {
    let ([a, b], all) = (members(store), barrier(2));
    let first = by_hand(a.mutex("x").reentrant(), a.mutex("y"), &all);
    let second = by_hand(b.mutex("y").reentrant(), b.mutex("x"), &all);
    assert_eq!(only_failure([first, second]).await.len(), 2);
}

/// Waits for several searches, which find nothing or fail nobody. Then it ends the first call, and the second gets its
/// lock.
async fn nobody_fails(first: JoinHandle<Taken>, second: JoinHandle<Taken>) {
    sleep(SEARCHES).await;
    assert!(!first.is_finished() && !second.is_finished());
    // The abort releases the lock of the first task.
    first.abort();
    soon("the other", second).await.unwrap().unwrap();
}

/// Such guards may be with other tasks by now, so a report could be false.
pub(crate) async fn other_guards_are_no_part(store: &dyn TestStore) {
    let ([a, b], all) = (members(store), barrier(2));
    let first = by_hand(a.mutex("x"), a.mutex("y"), &all);
    let second = by_hand(b.mutex("y"), b.mutex("x"), &all);
    nobody_fails(first, second).await;
}

/// With `Report` no call fails, and with `Off` no deadlock is found.
pub(crate) async fn a_report_fails_nobody(store: &dyn TestStore) {
    for deadlock in [Deadlock::Report, Deadlock::Off] {
        let all = barrier(2);
        let [a, b] = [deadlock, Deadlock::Report].map(|deadlock| member(store, deadlock));
        nobody_fails(nested(&a, "x", "y", &all), nested(&b, "y", "x", &all)).await;
    }
}

/// One member makes a call fail, the other only reports. Whichever searches first, the former's call fails.
pub(crate) async fn who_may_fail_ends_it_for_all(store: &dyn TestStore) {
    let all = barrier(2);
    let [a, b] = [Deadlock::Fail, Deadlock::Report].map(|deadlock| member(store, deadlock));
    let (first, second) = (nested(&a, "x", "y", &all), nested(&b, "y", "x", &all));
    is!(
        soon("the first", first).await.unwrap(),
        Err(LockError::Deadlock { .. })
    );
    soon("the second", second).await.unwrap().unwrap();
}

/// Calls `close` if `first`, otherwise `post`. Each takes the other's lock while it holds its own.
async fn crossed(client: Client, key: String, first: bool, all: Arc<Barrier>) -> Taken {
    #[auto_mutex(client = client, name = "billing:close", key = key, block = 20)]
    async fn close(client: &Client, key: &str, goes_on: Option<&Barrier>) -> Result<(), LockError> {
        if let Some(all) = goes_on {
            all.wait().await;
            Box::pin(post(client, key, None)).await?;
        }
        Ok(())
    }

    #[auto_mutex(client = client, name = "billing:post", key = key, block = 20)]
    async fn post(client: &Client, key: &str, goes_on: Option<&Barrier>) -> Result<(), LockError> {
        if let Some(all) = goes_on {
            all.wait().await;
            Box::pin(close(client, key, None)).await?;
        }
        Ok(())
    }

    match first {
        true => close(&client, &key, Some(&all)).await,
        false => post(&client, &key, Some(&all)).await,
    }
}

pub(crate) async fn a_deadlock_is_told_once_with_all_its_places(store: &dyn TestStore) {
    let (key, all) = (listen(), barrier(2));
    let told = || told(&[DEADLOCK, &key]);
    let tasks = [true, false].map(|first| {
        let client = member(store, Deadlock::Report);
        tokio::spawn(crossed(client, key.clone(), first, all.clone()))
    });
    becomes!("it is told", !told().is_empty());
    sleep(SEARCHES).await;
    for task in tasks {
        task.abort();
        let _ = task.await;
    }
    let told = told();
    assert_eq!(told.len(), 1, "{told:?}");
    for part in [
        "@",
        &format!("::close, {}:", file!()),
        &format!("::post, {}:", file!()),
        &format!(") has held suite:billing:close:{key} for "),
        &format!(" s and waited for suite:billing:post:{key} for "),
        "; ",
        &format!(") has held suite:billing:post:{key} for "),
        "fails=false",
    ] {
        assert!(told[0].contains(part), "{part}: {told:?}");
    }
}
