//! Locks that stay with their client between calls, on stores that can recall them. On a quorum, the same calls keep nothing.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockInfo, Mutex, Ticket};
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::stores::TestStore;

/// Longer than every test: no kept lock becomes free because this time is over.
const RETAIN: &str = "600s";

fn retaining(client: &Client, name: &str) -> Mutex {
    client.mutex(name).retain(RETAIN)
}

/// Waits until nobody is inside, and the lock is kept if the store allows it.
async fn settles(store: &dyn TestStore, mutex: &Mutex) -> LockInfo {
    let mut info = None;
    becomes("nobody is inside", async || {
        let now = mutex.info().await.unwrap();
        let settled = !now.locked && now.kept == store.keeps();
        info = Some(now);
        settled
    })
    .await;
    info.unwrap()
}

/// Takes the lock and releases it. Returns the token when the lock is kept, as `observer` sees it.
async fn keep(store: &dyn TestStore, mutex: &Mutex, observer: &Mutex) -> u64 {
    let guard = soon("the lock", mutex.lock()).await.unwrap();
    let token = guard.fencing_token();
    drop(guard);
    settles(store, observer).await;
    token
}

pub(crate) async fn each_call_has_a_token_of_its_own(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m");
    let mut last = 0;
    for round in 0..40 {
        let guard = match round % 4 {
            0 => mutex.lock().await.unwrap(),
            1 => mutex.try_lock().await.unwrap().expect("it is its own"),
            2 => {
                let mutex = mutex.clone();
                let thread = store.thread(move || mutex.blocking_lock());
                thread.await.unwrap().unwrap()
            }
            _ => mutex.clone().reentrant().lock().await.unwrap(),
        };
        assert!(guard.fencing_token() > last, "round {round}");
        last = guard.fencing_token();
        guard.check().unwrap();
        match round % 3 {
            0 => assert!(guard.unlock().await.unwrap()),
            _ => drop(guard),
        }
        if round == 20 {
            let theirs = soon("recalled", other.mutex("m").lock()).await.unwrap();
            assert!(theirs.fencing_token() > last);
            last = theirs.fencing_token();
            assert!(theirs.unlock().await.unwrap());
        }
    }
}

pub(crate) async fn nobody_is_inside_of_a_kept_lock(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m");
    let token = keep(store, &mutex, &other.mutex("m")).await;
    let info = other.mutex("m").info().await.unwrap();
    assert_eq!(info.holders.len(), usize::from(store.keeps()));
    assert!(!other.mutex("m").is_locked().await.unwrap());
    assert!(!mutex.is_owned().await.unwrap());
    let guard = mutex.lock().await.unwrap();
    assert!(guard.fencing_token() > token);
    // The client tells the store before it asks.
    let info = mutex.info().await.unwrap();
    assert!(info.locked && !info.kept, "{info:?}");
    assert!(other.mutex("m").is_locked().await.unwrap());
    drop(guard);
    let info = mutex.info().await.unwrap();
    assert!(!info.locked || !store.keeps(), "{info:?}");
    let guard = mutex.lock().await.unwrap();
    becomes("others see that a call is inside", async || {
        let info = other.mutex("m").info().await.unwrap();
        info.locked && !info.kept
    })
    .await;
    drop(guard);
    settles(store, &other.mutex("m")).await;
}

pub(crate) async fn a_waiter_gets_a_kept_lock(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let [mutex, theirs] = [&client, &other].map(|client| retaining(client, "m"));
    let token = keep(store, &mutex, &other.mutex("m")).await;
    let guard = soon("recalled", theirs.lock()).await.unwrap();
    assert!(guard.fencing_token() > token);
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());

    // A call is inside: it ends first.
    let mutex = retaining(&client, "other");
    keep(store, &mutex, &other.mutex("other")).await;
    let guard = mutex.lock().await.unwrap();
    let waiting = tokio::spawn({
        let theirs = other.mutex("other");
        async move { theirs.lock().await }
    });
    waiters(&client.mutex("other"), 1).await;
    guard.check().unwrap();
    assert!(!waiting.is_finished());
    let token = guard.fencing_token();
    drop(guard);
    let next = soon("its turn", waiting).await.unwrap().unwrap();
    assert!(next.fencing_token() > token);
}

pub(crate) async fn an_attempt_gets_a_kept_lock(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    for way in 0..4 {
        let name = format!("m{way}");
        let mutex = retaining(&client, &name);
        let theirs = other.mutex(&name);
        keep(store, &mutex, &theirs).await;
        let guard = match way {
            0 => theirs.try_lock().await.unwrap().expect("free"),
            1 => theirs.block(Duration::ZERO).lock().await.unwrap(),
            2 => store
                .thread(move || theirs.blocking_try_lock())
                .await
                .unwrap()
                .unwrap()
                .expect("free"),
            _ => {
                let pair = other.multi([name.clone(), "free".to_owned()]);
                let pair = pair.try_lock().await.unwrap().expect("both are free");
                assert!(pair.unlock().await.unwrap());
                continue;
            }
        };
        assert!(guard.unlock().await.unwrap());
    }
}

pub(crate) async fn an_attempt_finds_a_call_busy(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m");
    keep(store, &mutex, &other.mutex("m")).await;
    // The store does not know of this call yet.
    let guard = mutex.lock().await.unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn a_lock_of_another_kind_gets_what_is_kept(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    for (number, asks) in [&client, &other].into_iter().enumerate() {
        let names = [0, 1, 2].map(|kind| format!("{number}{kind}"));
        for name in &names {
            keep(store, &retaining(&client, name), &other.mutex(name)).await;
        }
        let [semaphore, reads, writes] = &names;
        let permit = asks.semaphore(semaphore, 3);
        let permit = soon("a permit", permit.acquire()).await.unwrap();
        permit.release().await.unwrap();
        let lock = asks.rw_lock(reads);
        let guard = soon("a reader", lock.read()).await.unwrap();
        assert!(guard.unlock().await.unwrap());
        let guard = asks.rw_lock(writes).try_write().await.unwrap();
        drop(guard.expect("free"));

        let name = format!("{number}3");
        let lock = client.rw_lock(&name).retain(RETAIN);
        drop(lock.write().await.unwrap());
        becomes("it is kept", async || {
            let info = lock.info().await.unwrap();
            !info.locked && info.kept == store.keeps()
        })
        .await;
        drop(lock.write().await.unwrap());
        let readers = [(); 2].map(|()| asks.rw_lock(&name));
        for reader in &readers {
            drop(soon("a reader", reader.read()).await.unwrap());
        }
    }
}

pub(crate) async fn force_unlock_frees_what_is_kept(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m");
    let token = keep(store, &mutex, &other.mutex("m")).await;
    let _ = other.mutex("m").force_unlock().await.unwrap();
    becomes("nothing is kept", async || {
        let info = other.mutex("m").info().await.unwrap();
        info.holders.is_empty() && !info.kept
    })
    .await;
    // Calls may enter until the client hears of it, as after any `force_unlock`.
    let mut last = token;
    becomes("it is kept again", async || {
        let guard = soon("the lock", mutex.lock()).await.unwrap();
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        drop(guard);
        let info = mutex.info().await.unwrap();
        !info.locked && info.kept == store.keeps()
    })
    .await;
    // If a call is inside, it is a loss like any other, whether the store knows of the call or not.
    let guard = mutex.lock().await.unwrap();
    let _ = other.mutex("m").force_unlock().await.unwrap();
    soon("the loss", guard.lost()).await;
}

pub(crate) async fn an_awaited_unlock_means_the_same(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    for round in 0..3 {
        let name = format!("m{round}");
        let mutex = retaining(&client, &name);
        for _ in 0..3 {
            let guard = mutex.lock().await.unwrap();
            assert!(guard.unlock().await.unwrap());
            assert!(!mutex.unlock().await.unwrap(), "nothing is held");
        }
        let theirs = other.mutex(&name).try_lock().await.unwrap();
        drop(theirs.expect("free"));
    }
}

pub(crate) async fn a_client_that_ends_keeps_nothing(store: &dyn TestStore) {
    let other = store.member();
    for how in ["drain", "shutdown", "drop"] {
        let client = store.member();
        let mutex = retaining(&client, how);
        keep(store, &mutex, &other.mutex(how)).await;
        match how {
            "drain" => assert!(client.drain("600s").await.unwrap().is_complete()),
            "shutdown" => client.shutdown().await,
            _ => {
                drop((mutex, client));
                becomes("released", async || {
                    other.mutex(how).info().await.unwrap().holders.is_empty()
                })
                .await;
            }
        }
        let info = other.mutex(how).info().await.unwrap();
        assert!(info.holders.is_empty() && !info.kept, "{how}: {info:?}");
        let guard = other.mutex(how).try_lock().await.unwrap();
        drop(guard.expect("free"));
    }
}

pub(crate) async fn one_setting_turns_it_off(store: &dyn TestStore) {
    let client = Client::connect(store.config().retain("0s")).unwrap();
    let lock = client.rw_lock("w").retain(RETAIN);
    let mutex = retaining(&client, "m");
    for _ in 0..3 {
        assert!(mutex.lock().await.unwrap().unlock().await.unwrap());
        assert!(lock.write().await.unwrap().unlock().await.unwrap());
        for info in [mutex.info().await, lock.info().await] {
            let info = info.unwrap();
            assert!(info.holders.is_empty() && !info.kept, "{info:?}");
        }
    }
}

pub(crate) async fn two_clients_take_turns(store: &dyn TestStore) {
    let clients = [store.member(), store.member()];
    let mutexes = [&clients[0], &clients[1]].map(|client| retaining(client, "m"));
    let mut guard = mutexes[0].lock().await.unwrap();
    for round in 1..20 {
        let next = mutexes[round % 2].clone();
        let waiting = tokio::spawn(async move { next.lock().await });
        waiters(&clients[0].mutex("m"), 1).await;
        let token = guard.fencing_token();
        drop(guard);
        // This call comes later, but may enter until the client hears of the waiter.
        let late = mutexes[(round + 1) % 2].try_lock().await.unwrap();
        let token = late.map_or(token, |guard| guard.fencing_token());
        guard = soon("its turn", waiting).await.unwrap().unwrap();
        assert!(guard.fencing_token() > token, "round {round}");
    }
}

pub(crate) async fn what_others_may_enter_is_not_kept(store: &dyn TestStore) {
    let client = store.member();
    let mutex = retaining(&client, "m");
    let signals = client.rw_lock("r").retain(RETAIN);
    let unkept = async |info: LockInfo| info.holders.is_empty() && !info.kept;
    let owned = mutex.clone().owner("somebody");
    assert!(owned.lock().await.unwrap().unlock().await.unwrap());
    assert!(unkept(mutex.info().await.unwrap()).await);
    assert!(signals.read().await.unwrap().unlock().await.unwrap());
    assert!(unkept(signals.info().await.unwrap()).await);
    let several = client.multi(["m", "r"]);
    assert!(several.lock().await.unwrap().unlock().await.unwrap());
    assert!(unkept(mutex.info().await.unwrap()).await);
}

pub(crate) async fn at_least_comes_before(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m").at_least("600s");
    drop(mutex.lock().await.unwrap());
    for client in [&client, &other] {
        let info = client.mutex("m").info().await.unwrap();
        assert!(info.locked && !info.kept, "{info:?}");
        assert!(client.mutex("m").try_lock().await.unwrap().is_none());
    }
    assert!(mutex.try_lock().await.unwrap().is_none());
}

pub(crate) async fn each_call_has_an_expire_of_its_own(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m").expire("3s");
    // More than `expire` in all. A machine that stands still meanwhile shows nothing.
    let mut shown = 0;
    while shown < 3 {
        let asked = Instant::now();
        let guard = soon("the lock", mutex.lock()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        let held = guard.check();
        if asked.elapsed() < Duration::from_millis(1_800) {
            held.unwrap();
            shown += 1;
        }
    }
    let guard = soon("the lock", mutex.lock()).await.unwrap();
    soon("it expires", guard.lost()).await;
    drop(soon("the next", other.mutex("m").lock()).await.unwrap());
    assert!(guard.is_lost());
}

pub(crate) async fn a_call_has_the_full_lease(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m");
    keep(store, &mutex, &other.mutex("m")).await;
    let guard = mutex.lock().await.unwrap();
    soon("renewed", guard.refresh(RETAIN)).await.unwrap();
    let left = other.mutex("m").info().await.unwrap().expires_in;
    assert!(left > Some(Duration::from_secs(10)), "{left:?}");
    guard.check().unwrap();
    drop(guard);
    // Without a refresh, the client tells the store soon.
    keep(store, &mutex, &other.mutex("m")).await;
    let _guard = mutex.lock().await.unwrap();
    becomes("the lease is long", async || {
        let left = other.mutex("m").info().await.unwrap().expires_in;
        left > Some(Duration::from_secs(10))
    })
    .await;
}

pub(crate) async fn a_ticket_outlasts_the_short_lease(store: &dyn TestStore) {
    let (client, there) = (store.member(), store.member());
    let mutex = retaining(&client, "m");
    keep(store, &mutex, &there.mutex("m")).await;
    let guard = mutex.lock().await.unwrap();
    let token = guard.fencing_token();
    let ticket = soon("a ticket", async { guard.into_ticket() }).await;
    let ticket = ticket.unwrap().to_string();
    becomes("the ticket is there for seconds", async || {
        let left = there.mutex("m").info().await.unwrap().expires_in;
        left > Some(Duration::from_secs(10))
    })
    .await;
    let ticket: Ticket = ticket.parse().unwrap();
    let guard = soon("adopted", there.adopt(&ticket)).await.unwrap();
    assert!(guard.fencing_token() > token);
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    drop(soon("free", mutex.lock()).await.unwrap());
}

pub(crate) async fn a_writer_from_a_kept_lock_becomes_a_reader(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let lock = client.rw_lock("l").retain(RETAIN);
    assert!(lock.write().await.unwrap().unlock().await.unwrap());
    let writer = lock.write().await.unwrap();
    let token = writer.fencing_token();
    let reader = soon("downgraded", writer.downgrade()).await.unwrap();
    let beside = other.rw_lock("l").try_read().await.unwrap();
    assert!(beside.is_some());
    assert!(other.rw_lock("l").try_write().await.unwrap().is_none());
    assert!(lock.try_write().await.unwrap().is_none());
    reader.check().unwrap();
    drop((reader, beside));
    let writer = soon("a writer", other.rw_lock("l").write()).await.unwrap();
    assert!(writer.fencing_token() > token);
}

pub(crate) async fn a_wait_for_a_notification_releases_it(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = retaining(&client, "m");
    keep(store, &mutex, &other.mutex("m")).await;
    let guard = mutex.lock().await.unwrap();
    let token = guard.fencing_token();
    let waiting = tokio::spawn({
        let condvar = client.condvar("c");
        async move { condvar.wait(guard).await }
    });
    let guard = soon("released", other.mutex("m").lock()).await.unwrap();
    assert!(guard.fencing_token() > token);
    let token = guard.fencing_token();
    becomes("notified", async || {
        other.condvar("c").notify_one().await.unwrap()
    })
    .await;
    drop(guard);
    let guard = soon("woken", waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token() > token);
}

pub(crate) async fn many_tasks_never_meet_inside(store: &dyn TestStore) {
    let clients = [store.member(), store.member()];
    let inside = std::sync::Arc::new(tokio::sync::Mutex::new(0_u64));
    let tasks: Vec<_> = (0..8)
        .map(|number| {
            // Some clients' handles retain, and others of the same client don't.
            let client = &clients[number % 2];
            let mutex = match number / 2 % 2 {
                0 => retaining(client, "m"),
                _ => client.mutex("m"),
            };
            let inside = inside.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    let guard = mutex.lock().await.unwrap();
                    let mut last = inside.try_lock().expect("nobody else");
                    assert!(guard.fencing_token() > *last);
                    *last = guard.fencing_token();
                    tokio::task::yield_now().await;
                    drop((last, guard));
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for task in tasks {
        soon("all turns", task).await.unwrap();
    }
}
