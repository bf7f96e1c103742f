//! Tasks that wait for each other: one call fails, and no other call does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_mutex::{Client, Deadlock, LockError, Mutex, auto_mutex};
use auto_mutex_tests::events::{becomes, eventually, soon};
use auto_mutex_tests::stores::TestStore;
use tokio::sync::Barrier;

use crate::hears::{DEADLOCK, listen, told};

/// `Config::deadlock_after`. It is short, so that the tests take little time. On a busy machine a search may find nothing, but
/// a later one does.
const AFTER: Duration = Duration::from_millis(100);

fn member(store: &dyn TestStore, deadlock: Deadlock) -> Client {
    let config = store.config().deadlock(deadlock).deadlock_after(AFTER);
    Client::connect(config).unwrap()
}

fn members<const N: usize>(store: &dyn TestStore) -> [Client; N] {
    std::array::from_fn(|_| member(store, Deadlock::Fail))
}

/// Takes `outer`, waits until all tasks have done so, then takes `inner`.
async fn nested(
    client: Client,
    outer: &'static str,
    inner: &'static str,
    all: Arc<Barrier>,
) -> Result<(), LockError> {
    let body = async |_: &_| {
        all.wait().await;
        client.mutex(inner).lock().await.map(drop)
    };
    client.mutex(outer).synchronize(body).await?
}

/// Returns the hops of the only failure: the lock that each task holds, and the lock that it waits for.
fn only_failure(results: Vec<Result<(), LockError>>) -> Vec<(String, String)> {
    let mut failed = results.into_iter().filter_map(Result::err);
    let error = failed.next().expect("a call fails");
    assert_eq!(
        failed.next().map(|error| error.to_string()),
        None,
        "only one"
    );
    let LockError::Deadlock { cycle, .. } = &error else {
        panic!("{error}");
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
    hops.map(|hop| (hop.holds.clone(), hop.waits_for.clone()))
        .collect()
}

fn both(holds: &str, waits_for: &str) -> (String, String) {
    (format!("suite:{holds}"), format!("suite:{waits_for}"))
}

/// Runs tasks that each hold their first lock and wait for their second. Returns the hops of the failure.
async fn cycle(
    clients: &[Client],
    locks: &[(&'static str, &'static str)],
) -> Vec<(String, String)> {
    let all = Arc::new(Barrier::new(locks.len()));
    let task = |(client, (outer, inner)): (&Client, &(&'static str, &'static str))| {
        tokio::spawn(nested(client.clone(), outer, inner, all.clone()))
    };
    let tasks: Vec<_> = clients.iter().cycle().zip(locks).map(task).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(soon("the task", task).await.unwrap());
    }
    only_failure(results)
}

pub(crate) async fn two_members_in_opposite_order(store: &dyn TestStore) {
    let hops = cycle(&members::<2>(store), &[("x", "y"), ("y", "x")]).await;
    let expected = [both("x", "y"), both("y", "x")];
    assert!(
        hops == expected || hops.iter().rev().eq(&expected),
        "{hops:?}"
    );
}

pub(crate) async fn two_tasks_of_one_member(store: &dyn TestStore) {
    let hops = cycle(&members::<1>(store), &[("x", "y"), ("y", "x")]).await;
    assert_eq!(hops.len(), 2);
}

pub(crate) async fn a_cycle_of_five(store: &dyn TestStore) {
    let locks = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")];
    assert_eq!(cycle(&members::<3>(store), &locks).await.len(), 5);
}

/// A task that waits behind the cycle is not part of it, and gets its lock.
pub(crate) async fn who_waits_behind_a_deadlock_does_not_fail(store: &dyn TestStore) {
    let clients = members::<3>(store);
    let other = clients[2].clone();
    let all = Arc::new(Barrier::new(1));
    let behind = async || nested(other.clone(), "z", "x", all.clone()).await;
    let locks = [("x", "y"), ("y", "x")];
    let (hops, behind) = tokio::join!(cycle(&clients[..2], &locks), behind());
    assert_eq!(hops.len(), 2);
    behind.unwrap();
}

/// A long wait in a chain is no deadlock.
pub(crate) async fn a_chain_is_none(store: &dyn TestStore) {
    let [a, b, c] = members(store);
    let last = c.mutex("z").lock().await.unwrap();
    let one = Arc::new(Barrier::new(1));
    let first = tokio::spawn(nested(a, "x", "y", one.clone()));
    let second = tokio::spawn(nested(b, "y", "z", one));
    // Long enough for several searches.
    tokio::time::sleep(AFTER * 8).await;
    drop(last);
    soon("the second", second).await.unwrap().unwrap();
    soon("the first", first).await.unwrap().unwrap();
}

pub(crate) async fn a_task_may_use_two_clients(store: &dyn TestStore) {
    let [a, b, c] = members(store);
    let all = Arc::new(Barrier::new(2));
    let other = all.clone();
    let first = tokio::spawn(async move {
        let body = async |_: &_| {
            other.wait().await;
            b.mutex("y").lock().await.map(drop)
        };
        a.mutex("x").synchronize(body).await?
    });
    let second = tokio::spawn(nested(c, "y", "x", all));
    let results = vec![
        soon("the first", first).await.unwrap(),
        soon("the second", second).await.unwrap(),
    ];
    assert_eq!(only_failure(results).len(), 2);
}

pub(crate) async fn threads_are_tasks_too(store: &dyn TestStore) {
    let inside = Arc::new(AtomicU32::new(0));
    let threads = members::<2>(store)
        .into_iter()
        .zip([("x", "y"), ("y", "x")]);
    let threads: Vec<_> = threads
        .map(|(client, (outer, inner))| {
            let inside = inside.clone();
            store.thread(move || {
                client.mutex(outer).blocking_synchronize(|_| {
                    inside.fetch_add(1, Ordering::Relaxed);
                    eventually("both", || inside.load(Ordering::Relaxed) == 2);
                    client.mutex(inner).blocking_lock().map(drop)
                })?
            })
        })
        .collect();
    let mut results = Vec::new();
    for thread in threads {
        results.push(soon("the thread", thread).await.unwrap());
    }
    assert_eq!(only_failure(results).len(), 2);
}

/// The writer waits for a reader, and the reader waits for the writer's other lock.
pub(crate) async fn readers_and_writers(store: &dyn TestStore) {
    let [a, b] = members(store);
    let all = Arc::new(Barrier::new(2));
    let other = all.clone();
    let reader = tokio::spawn(async move {
        let body = async |_: &_| {
            other.wait().await;
            a.mutex("m").lock().await.map(drop)
        };
        a.rw_lock("l").synchronize_read(body).await?
    });
    let writer = tokio::spawn(async move {
        let body = async |_: &_| {
            all.wait().await;
            b.rw_lock("l").write().await.map(drop)
        };
        b.mutex("m").synchronize(body).await?
    });
    let results = vec![
        soon("the reader", reader).await.unwrap(),
        soon("the writer", writer).await.unwrap(),
    ];
    assert_eq!(only_failure(results).len(), 2);
}

/// The waiter needs one of two permits, and the holder of the other one is still running: no deadlock.
pub(crate) async fn a_permit_that_comes_back_is_enough(store: &dyn TestStore) {
    let [a, b, c] = members(store);
    let running = c.semaphore("s", 2).acquire().await.unwrap();
    let all = Arc::new(Barrier::new(2));
    let other = all.clone();
    let first = tokio::spawn(async move {
        let body = async |_: &_| {
            other.wait().await;
            a.mutex("m").lock().await.map(drop)
        };
        a.semaphore("s", 2).synchronize(body).await?
    });
    let second = tokio::spawn(async move {
        let body = async |_: &_| {
            all.wait().await;
            b.semaphore("s", 2).acquire().await.map(drop)
        };
        b.mutex("m").synchronize(body).await?
    });
    tokio::time::sleep(AFTER * 8).await;
    drop(running);
    soon("the second", second).await.unwrap().unwrap();
    soon("the first", first).await.unwrap().unwrap();
}

/// A call for several locks holds those it has already taken, so it can be part of a deadlock.
pub(crate) async fn a_call_for_several_locks_is_a_part(store: &dyn TestStore) {
    let [a, b, observer] = members(store);
    let (all, ready) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (inside, goes_on) = (ready.clone(), all.clone());
    let outer = tokio::spawn(async move {
        let body = async |_: &_| {
            inside.wait().await;
            goes_on.wait().await;
            b.mutex("x").lock().await.map(drop)
        };
        b.mutex("y").synchronize(body).await?
    });
    ready.wait().await;
    let several = tokio::spawn(async move { a.multi(["x", "y"]).lock().await.map(drop) });
    becomes("it has the first", async || {
        observer.mutex("x").is_locked().await.unwrap()
    })
    .await;
    all.wait().await;
    let results = vec![
        soon("several", several).await.unwrap(),
        soon("the other", outer).await.unwrap(),
    ];
    assert_eq!(only_failure(results).len(), 2);
}

/// Tasks of one owner share a hold, and each of them can be part of a deadlock.
pub(crate) async fn an_owner_is_a_part_in_each_of_its_tasks(store: &dyn TestStore) {
    let [a, b] = members(store);
    let all = Arc::new(Barrier::new(3));
    let (client, other) = (a.clone(), all.clone());
    let idle = tokio::spawn(async move {
        let mutex = client.mutex("x").owner("o");
        let body = async |_: &_| {
            other.wait().await;
        };
        mutex.synchronize(body).await
    });
    let other = all.clone();
    let waits = tokio::spawn(async move {
        let body = async |_: &_| {
            other.wait().await;
            a.mutex("y").lock().await.map(drop)
        };
        a.mutex("x").owner("o").synchronize(body).await?
    });
    let outer = tokio::spawn(nested(b, "y", "x", all));
    soon("the idle one", idle).await.unwrap().unwrap();
    let results = vec![
        soon("the owner", waits).await.unwrap(),
        soon("the other", outer).await.unwrap(),
    ];
    assert_eq!(only_failure(results).len(), 2);
}

/// Takes the lock `outer` by hand, waits until all tasks have done so, then takes `inner`.
async fn by_hand(outer: Mutex, inner: Mutex, all: Arc<Barrier>) -> Result<(), LockError> {
    let _guard = outer.lock().await?;
    all.wait().await;
    inner.lock().await.map(drop)
}

pub(crate) async fn guards_of_reentrant_handles_are_a_part(store: &dyn TestStore) {
    let all = Arc::new(Barrier::new(2));
    let [a, b] = members(store);
    let task = |client: &Client, outer: &str, inner: &str| {
        let outer = client.mutex(outer).reentrant();
        tokio::spawn(by_hand(outer, client.mutex(inner), all.clone()))
    };
    let tasks = [task(&a, "x", "y"), task(&b, "y", "x")];
    let mut results = Vec::new();
    for task in tasks {
        results.push(soon("the task", task).await.unwrap());
    }
    assert_eq!(only_failure(results).len(), 2);
}

/// Such guards may be with other tasks by now, so a report could be false.
pub(crate) async fn other_guards_are_no_part(store: &dyn TestStore) {
    let all = Arc::new(Barrier::new(2));
    let [a, b] = members(store);
    let first = tokio::spawn(by_hand(a.mutex("x"), a.mutex("y"), all.clone()));
    let second = tokio::spawn(by_hand(b.mutex("y"), b.mutex("x"), all));
    tokio::time::sleep(AFTER * 8).await;
    assert!(!first.is_finished() && !second.is_finished());
    first.abort();
    soon("the other", second).await.unwrap().unwrap();
}

/// With `Report` no call fails, and with `Off` no deadlock is found.
pub(crate) async fn a_report_fails_nobody(store: &dyn TestStore) {
    for deadlock in [Deadlock::Report, Deadlock::Off] {
        let all = Arc::new(Barrier::new(2));
        let [a, b] = [member(store, deadlock), member(store, Deadlock::Report)];
        let first = tokio::spawn(nested(a.clone(), "x", "y", all.clone()));
        let second = tokio::spawn(nested(b, "y", "x", all));
        tokio::time::sleep(AFTER * 8).await;
        assert!(!first.is_finished() && !second.is_finished());
        // The abort releases the lock of the first task.
        first.abort();
        soon("the other", second).await.unwrap().unwrap();
    }
}

/// One member makes a call fail, the other only reports. Whichever searches first, the former's call fails.
pub(crate) async fn who_may_fail_ends_it_for_all(store: &dyn TestStore) {
    let all = Arc::new(Barrier::new(2));
    let [a, b] = [
        member(store, Deadlock::Fail),
        member(store, Deadlock::Report),
    ];
    let first = tokio::spawn(nested(a, "x", "y", all.clone()));
    let second = tokio::spawn(nested(b, "y", "x", all));
    let error = soon("the first", first).await.unwrap().unwrap_err();
    assert!(matches!(error, LockError::Deadlock { .. }), "{error}");
    soon("the second", second).await.unwrap().unwrap();
}

/// Calls `close` if `first`, otherwise `post`. Each takes the other's lock while it holds its own.
async fn crossed(
    client: Client,
    key: String,
    first: bool,
    all: Arc<Barrier>,
) -> Result<(), LockError> {
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
    let key = listen();
    let told = || told(&[DEADLOCK, &key]);
    let all = Arc::new(Barrier::new(2));
    let tasks = [true, false].map(|first| {
        let client = member(store, Deadlock::Report);
        tokio::spawn(crossed(client, key.clone(), first, all.clone()))
    });
    becomes("it is told", async || !told().is_empty()).await;
    // Long enough for several searches.
    tokio::time::sleep(AFTER * 8).await;
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
        &format!(") holds suite:billing:close:{key} since "),
        &format!(" s, waits for suite:billing:post:{key} since "),
        "; held by ",
        &format!(") holds suite:billing:post:{key} since "),
        "fails=false",
    ] {
        assert!(told[0].contains(part), "{part}: {told:?}");
    }
}
