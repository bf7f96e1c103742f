//! Locks that stay with their client between calls, on stores that can recall them. On a quorum, the same calls keep
//! nothing.
//!
//! A kept lock has a short lease, which ends if the client or the store stands still for two seconds. Then the lock is
//! no longer kept, and a call that had just entered it has lost it.

use crate::prelude::*;

/// Longer than every test: no kept lock becomes free because this time is over.
const RETAIN: &str = "600s";
/// More than the short lease.
const SECONDS: Duration = Duration::from_secs(10);

fn retaining(client: &Client, name: &str) -> Mutex {
    client.mutex(name).retain(RETAIN)
}

/// Takes the lock and releases it, until it is kept, as `observer` sees it, if the store allows it. Returns the last
/// token, and what the observer saw.
async fn keep(store: &dyn TestStore, mutex: &Mutex, observer: &Mutex) -> (u64, LockInfo) {
    for _ in 0..20 {
        let guard = soon("the lock", mutex.lock()).await.unwrap();
        let token = guard.fencing_token();
        drop(guard);
        let mut seen = None;
        becomes!("nobody is inside", {
            let info = observer.info().await.unwrap();
            let is_over = !info.locked;
            seen = Some(info);
            is_over
        });
        let seen = seen.unwrap();
        if seen.kept == store.keeps() {
            return (token, seen);
        }
    }
    panic!("it is never kept");
}

fn is_unused(info: LockInfo) -> bool {
    info.holders.is_empty() && !info.kept
}

pub(crate) async fn each_call_has_a_token_of_its_own(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = retaining(&client, "m");
    let heard = Heard::from_now();
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
        match round % 3 {
            0 => heard.assert_eq(&guard.unlock().await.ok(), &Some(true)),
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
    let [client, other] = store.members();
    let (mutex, theirs) = (retaining(&client, "m"), other.mutex("m"));
    let heard = Heard::from_now();
    let (token, info) = keep(store, &mutex, &theirs).await;
    assert_eq!(info.holders.len(), usize::from(store.keeps()));
    assert!(!theirs.is_locked().await.unwrap());
    assert!(!mutex.is_owned().await.unwrap());
    let guard = mutex.lock().await.unwrap();
    assert!(guard.fencing_token() > token);
    // The client tells the store before it asks.
    let info = mutex.info().await.unwrap();
    heard.assert_eq(&(info.locked, info.kept), &(true, false));
    heard.assert_eq(&theirs.is_locked().await.unwrap(), &true);
    drop(guard);
    let info = mutex.info().await.unwrap();
    assert!(!info.locked || !store.keeps(), "{info:?}");
    let guard = mutex.lock().await.unwrap();
    becomes!("others see that a call is inside", {
        let info = theirs.info().await.unwrap();
        info.locked && !info.kept || guard.is_lost()
    });
    drop(guard);
    keep(store, &mutex, &theirs).await;
}

pub(crate) async fn a_waiter_gets_a_kept_lock(store: &dyn TestStore) {
    let [client, other] = store.members();
    let [mutex, theirs] = [&client, &other].map(|client| retaining(client, "m"));
    let (token, _) = keep(store, &mutex, &other.mutex("m")).await;
    let guard = soon("recalled", theirs.lock()).await.unwrap();
    assert!(guard.fencing_token() > token);
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());

    // A call is inside: it ends first.
    let (mutex, theirs) = (retaining(&client, "other"), other.mutex("other"));
    let heard = Heard::from_now();
    keep(store, &mutex, &theirs).await;
    let guard = mutex.lock().await.unwrap();
    let waiting = with(&theirs, |theirs| async move { theirs.lock().await });
    becomes!(
        "it waits",
        waiting.is_finished() || theirs.info().await.unwrap().waiters.len() == 1
    );
    heard.assert_eq(&(guard.is_lost(), waiting.is_finished()), &(false, false));
    let token = guard.fencing_token();
    drop(guard);
    let next = soon("its turn", waiting).await.unwrap().unwrap();
    assert!(next.fencing_token() > token);
}

pub(crate) async fn an_attempt_gets_a_kept_lock(store: &dyn TestStore) {
    let [client, other] = store.members();
    for way in 0..4 {
        let name = format!("m{way}");
        let theirs = other.mutex(&name);
        keep(store, &retaining(&client, &name), &theirs).await;
        let guard = match way {
            0 => theirs.try_lock().await.unwrap().expect("free"),
            1 => theirs.block(Duration::ZERO).lock().await.unwrap(),
            2 => {
                let tries = store.thread(move || theirs.blocking_try_lock());
                tries.await.unwrap().unwrap().expect("free")
            }
            _ => {
                let pair = other.multi([name.clone(), "free".to_owned()]);
                let pair = pair.try_lock().await.unwrap().expect("both are free");
                assert!(pair.unlock().await.unwrap());
                continue;
            }
        };
        assert!(guard.unlock().await.unwrap());
    }
    // A call is inside, of which the store does not know yet.
    let mutex = retaining(&client, "busy");
    let heard = Heard::from_now();
    keep(store, &mutex, &other.mutex("busy")).await;
    let guard = mutex.lock().await.unwrap();
    let tried = other.mutex("busy").try_lock().await.unwrap();
    heard.assert_eq(&(guard.is_lost(), tried.is_some()), &(false, false));
    drop(tried);
    heard.assert_eq(&guard.unlock().await.ok(), &Some(true));
    assert!(other.mutex("busy").try_lock().await.unwrap().is_some());
}

pub(crate) async fn a_lock_of_another_kind_gets_what_is_kept(store: &dyn TestStore) {
    let [client, other] = store.members();
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
        for _ in 0..2 {
            drop(lock.write().await.unwrap());
            becomes!("it is over", !lock.info().await.unwrap().locked);
        }
        let readers = [(); 2].map(|()| asks.rw_lock(&name));
        for reader in &readers {
            drop(soon("a reader", reader.read()).await.unwrap());
        }
    }
}

pub(crate) async fn force_unlock_frees_what_is_kept(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (mutex, theirs) = (retaining(&client, "m"), other.mutex("m"));
    let (token, _) = keep(store, &mutex, &theirs).await;
    assert!(!theirs.force_unlock().await.unwrap(), "nobody holds it");
    becomes!("nothing is kept", is_unused(theirs.info().await.unwrap()));
    // Calls may enter until the client hears of it, as after any `force_unlock`.
    let mut last = token;
    becomes!("it is kept again", {
        let guard = soon("the lock", mutex.lock()).await.unwrap();
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        drop(guard);
        let info = mutex.info().await.unwrap();
        !info.locked && info.kept == store.keeps()
    });
    // If a call is inside, it is a loss like any other, whether the store knows of the call or not.
    let guard = mutex.lock().await.unwrap();
    let _ = theirs.force_unlock().await.unwrap();
    soon("the loss", guard.lost()).await;
}

pub(crate) async fn an_awaited_unlock_means_the_same(store: &dyn TestStore) {
    let [client, other] = store.members();
    let heard = Heard::from_now();
    for name in ["a", "b", "c"] {
        let mutex = retaining(&client, name);
        for _ in 0..3 {
            let guard = mutex.lock().await.unwrap();
            heard.assert_eq(&guard.unlock().await.ok(), &Some(true));
            assert!(!mutex.unlock().await.unwrap(), "nothing is held");
        }
        let theirs = other.mutex(name).try_lock().await.unwrap();
        drop(theirs.expect("free"));
    }
}

pub(crate) async fn a_client_that_ends_keeps_nothing(store: &dyn TestStore) {
    let other = store.member();
    for how in ["drain", "shutdown", "drop"] {
        let (client, theirs) = (store.member(), other.mutex(how));
        let mutex = retaining(&client, how);
        keep(store, &mutex, &theirs).await;
        match how {
            "drain" => assert!(client.drain("600s").await.unwrap().is_complete()),
            "shutdown" => client.shutdown().await,
            _ => {
                drop((mutex, client));
                becomes!("released", is_unused(theirs.info().await.unwrap()));
            }
        }
        assert!(is_unused(theirs.info().await.unwrap()), "{how}");
        drop(theirs.try_lock().await.unwrap().expect("free"));
    }
}

pub(crate) async fn nothing_else_is_kept(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let (mutex, lock) = (retaining(&client, "m"), client.rw_lock("r").retain(RETAIN));
    // What others may enter.
    let owned = mutex.clone().owner("somebody").lock().await.unwrap();
    assert!(owned.unlock().await.unwrap());
    assert!(is_unused(mutex.info().await.unwrap()));
    assert!(lock.read().await.unwrap().unlock().await.unwrap());
    assert!(is_unused(lock.info().await.unwrap()));
    let several = client.multi(["m", "r"]).lock().await.unwrap();
    assert!(several.unlock().await.unwrap());
    assert!(is_unused(mutex.info().await.unwrap()));
    // The client's setting turns it off.
    let client = Client::connect(store.config().retain("0s")).unwrap();
    let (mutex, lock) = (retaining(&client, "m"), client.rw_lock("r").retain(RETAIN));
    for _ in 0..3 {
        assert!(mutex.lock().await.unwrap().unlock().await.unwrap());
        assert!(lock.write().await.unwrap().unlock().await.unwrap());
        assert!(is_unused(mutex.info().await.unwrap()));
        assert!(is_unused(lock.info().await.unwrap()));
    }
    // `at_least` comes before.
    let mutex = mutex.at_least(RETAIN);
    drop(mutex.lock().await.unwrap());
    for client in [&client, &other] {
        let info = client.mutex("m").info().await.unwrap();
        assert!(info.locked && !info.kept, "{info:?}");
        assert!(client.mutex("m").try_lock().await.unwrap().is_none());
    }
    assert!(mutex.try_lock().await.unwrap().is_none());
}

pub(crate) async fn two_clients_take_turns(store: &dyn TestStore) {
    let clients = store.members::<2>();
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

pub(crate) async fn each_call_has_an_expire_of_its_own(store: &dyn TestStore) {
    let [client, other] = store.members();
    let expire = 3 * SECONDS;
    let mutex = retaining(&client, "m").expire(expire);
    // More than `expire` in all.
    for _ in 0..3 {
        let guard = soon("the lock", mutex.lock()).await.unwrap();
        assert!(guard.expires_in() > SECONDS * 2);
        if store.has_virtual_time() {
            tokio::time::sleep(SECONDS).await;
            guard.check().unwrap();
        }
    }
    let mutex = mutex.expire(SECONDS / 10);
    let guard = soon("the lock", mutex.lock()).await.unwrap();
    assert!(guard.expires_in() <= SECONDS / 10);
    if store.has_virtual_time() {
        drop(soon("the next", other.mutex("m").lock()).await.unwrap());
        assert!(guard.is_lost());
    }
}

/// How long the store still keeps the lock for its holder.
async fn left(mutex: &Mutex) -> Duration {
    let info = mutex.info().await.unwrap();
    info.expires_in.unwrap_or_default()
}

pub(crate) async fn a_call_has_the_full_lease(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (mutex, theirs) = (retaining(&client, "m"), other.mutex("m"));
    let heard = Heard::from_now();
    keep(store, &mutex, &theirs).await;
    let guard = mutex.lock().await.unwrap();
    let refreshed = soon("renewed", guard.refresh(RETAIN)).await;
    heard.assert_eq(&refreshed.is_ok(), &true);
    heard.assert_eq(&(left(&theirs).await > SECONDS), &true);
    drop(guard);
    // Without a refresh, the client tells the store soon.
    keep(store, &mutex, &theirs).await;
    let guard = mutex.lock().await.unwrap();
    becomes!(
        "the lease is long",
        left(&theirs).await > SECONDS || guard.is_lost()
    );
    heard.assert_eq(&guard.is_lost(), &false);
}

pub(crate) async fn a_ticket_outlasts_the_short_lease(store: &dyn TestStore) {
    let [client, there] = store.members();
    let (mutex, theirs) = (retaining(&client, "m"), there.mutex("m"));
    keep(store, &mutex, &theirs).await;
    let guard = mutex.lock().await.unwrap();
    let token = guard.fencing_token();
    let ticket = soon("a ticket", async { guard.into_ticket() }).await;
    let ticket = ticket.unwrap().to_string();
    becomes!(
        "the ticket is there for seconds",
        left(&theirs).await > SECONDS
    );
    let ticket: Ticket = ticket.parse().unwrap();
    let guard = soon("adopted", there.adopt(&ticket)).await.unwrap();
    assert!(guard.fencing_token() > token);
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    drop(soon("free", mutex.lock()).await.unwrap());
}

pub(crate) async fn a_writer_from_a_kept_lock_becomes_a_reader(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (lock, theirs) = (client.rw_lock("l").retain(RETAIN), other.rw_lock("l"));
    assert!(lock.write().await.unwrap().unlock().await.unwrap());
    let writer = lock.write().await.unwrap();
    let token = writer.fencing_token();
    let reader = soon("downgraded", writer.downgrade()).await.unwrap();
    let beside = theirs.try_read().await.unwrap();
    assert!(beside.is_some());
    assert!(theirs.try_write().await.unwrap().is_none());
    assert!(lock.try_write().await.unwrap().is_none());
    reader.check().unwrap();
    drop((reader, beside));
    let writer = soon("a writer", theirs.write()).await.unwrap();
    assert!(writer.fencing_token() > token);
}

pub(crate) async fn a_wait_for_a_notification_releases_it(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (mutex, theirs) = (retaining(&client, "m"), other.mutex("m"));
    keep(store, &mutex, &theirs).await;
    let guard = mutex.lock().await.unwrap();
    let token = guard.fencing_token();
    let condvar = client.condvar("c");
    let waiting = tokio::spawn(async move { condvar.wait(guard).await });
    let guard = soon("released", theirs.lock()).await.unwrap();
    assert!(guard.fencing_token() > token);
    let token = guard.fencing_token();
    becomes!("notified", other.condvar("c").notify_one().await.unwrap());
    drop(guard);
    let guard = soon("woken", waiting).await.unwrap().unwrap();
    assert!(guard.fencing_token() > token);
}
