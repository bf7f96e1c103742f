//! Questions about a lock.

use crate::prelude::*;

pub(crate) async fn is_locked_and_is_owned_tell_apart(store: &dyn TestStore) {
    let (a, b) = (store.member().mutex("m"), store.member().mutex("m"));
    // Whether it is locked, and whether `a` or `b` owns it.
    let state = async || {
        let locked = a.is_locked().await.unwrap();
        assert_eq!(b.is_locked().await.unwrap(), locked);
        [
            locked,
            a.is_owned().await.unwrap(),
            b.is_owned().await.unwrap(),
        ]
    };
    assert_eq!(state().await, [false, false, false]);
    let guard = a.lock().await.unwrap();
    assert_eq!(state().await, [true, true, false]);
    guard.unlock().await.unwrap();
    assert_eq!(state().await, [false, false, false]);
    // Inside a protected call, every handle reports the lock as owned. A task that is spawned there does not own it.
    let client = store.member();
    let mutex = client.mutex("m");
    let body = mutex.synchronize(async |_: &MutexGuard| {
        assert!(client.mutex("m").is_owned().await.unwrap());
        let other = client.mutex("m");
        let spawned = tokio::spawn(async move { other.is_owned().await.unwrap() });
        assert!(!soon("an answer", spawned).await.unwrap());
    });
    body.await.unwrap();
}

pub(crate) async fn info_shows_holder_waiters_and_token(store: &dyn TestStore) {
    let [a, b, observer] = store.members();
    let guard = a.mutex("m").lock().await.unwrap();
    let waiter = tokio::spawn(async move { b.mutex("m").lock().await.unwrap() });
    waiters(&observer.mutex("m"), 1).await;
    let info = observer.mutex("m").info().await.unwrap();
    assert!(info.locked);
    assert_eq!(info.holders.len(), 1);
    assert!(store.is_ours(info.holders[0].pid));
    assert!(!info.holders[0].host.is_empty());
    let token = info.fencing_token.unwrap();
    assert!(token <= guard.fencing_token());
    assert!(info.expires_in.is_some_and(|left| !left.is_zero()));
    guard.unlock().await.unwrap();
    let guard = soon("the waiter", waiter).await.unwrap();
    guard.unlock().await.unwrap();
    let info = observer.mutex("m").info().await.unwrap();
    assert!(!info.locked && info.holders.is_empty() && info.waiters.is_empty());
    assert!(info.expires_in.is_none());
}

pub(crate) async fn info_describes_everybody(store: &dyn TestStore) {
    // The time of a grant may be some microseconds ahead of the clock, but is in the past when the test reads it.
    let lately = |since| store.is_lately(since);
    let [a, b, c] = store.members();
    let line = line!() + 1;
    let writer = b.rw_lock("r");
    let here = format!("r at {}:{line}", file!());
    let reading = a.rw_lock("r").read().await.unwrap();
    let writing = tokio::spawn(async move { drop(writer.write().await.unwrap()) });
    waiters(&a.rw_lock("r"), 1).await;
    let late = c.rw_lock("r");
    let writing_too = tokio::spawn(async move { drop(late.write().await.unwrap()) });
    waiters(&a.rw_lock("r"), 2).await;
    let info = a.rw_lock("r").info().await.unwrap();
    let holder = info.holder().unwrap();
    let what = |holder: &Holder| (holder.kind, holder.units);
    assert_eq!(what(holder), (Some(HoldKind::Reader), Some(1)));
    assert_eq!(holder.owner, None);
    assert!(lately(holder.since), "{holder:?}");
    let [first, second] = &*info.waiters else {
        panic!("{info:?}");
    };
    assert_eq!((first.kind, first.units), (HoldKind::Writer, 1 << 30));
    assert_eq!((first.place, second.place), (1, 2));
    assert_eq!(first.site, here);
    assert!(lately(first.since), "{info:?}");
    assert!(first.since <= second.since, "{info:?}");
    // A quorum may report a grant up to 10 ms too late, and a little more because of the randomness of its tokens.
    let latest = first.since + Duration::from_millis(15);
    assert!(holder.since <= latest, "{info:?}");
    assert!(store.is_ours(first.pid));
    assert!(!holder.host.is_empty());
    drop(reading);
    soon("a writer", writing).await.unwrap();
    soon("the other", writing_too).await.unwrap();

    let _permits = a.semaphore("s", 5).acquire_many(3).await.unwrap();
    let info = b.semaphore("s", 5).info().await.unwrap();
    let permits = (Some(HoldKind::Permit), Some(3));
    assert_eq!(what(info.holder().unwrap()), permits);
    let many = c.semaphore("s", 5);
    let many = tokio::spawn(async move { many.acquire_many(4).await.map(drop) });
    becomes!("it waits", {
        let waiters = b.semaphore("s", 5).info().await.unwrap().waiters;
        waiters.first().is_some_and(|waiter| {
            (waiter.kind, waiter.units, waiter.place) == (HoldKind::Permit, 4, 1)
        })
    });
    many.abort();
    let _only = a.semaphore("one", 1).acquire().await.unwrap();
    let info = b.semaphore("one", 1).info().await.unwrap();
    assert_eq!(info.holder().unwrap().kind, Some(HoldKind::Permit));
    let _owned = a.mutex("m").owner("night shift").lock().await.unwrap();
    let info = b.mutex("m").info().await.unwrap();
    let holder = info.holder().unwrap();
    assert_eq!(what(holder), (Some(HoldKind::Mutex), Some(1)));
    assert_eq!(holder.owner.as_deref(), Some("night shift"));
    let here = format!("m at {}:", file!());
    assert!(holder.site.starts_with(&here), "{holder:?}");
}

pub(crate) async fn asking_changes_nothing(store: &dyn TestStore) {
    let observer = store.member();
    for _ in 0..3 {
        let info = observer.mutex("never used").info().await.unwrap();
        assert!(!info.locked && info.fencing_token.is_none());
        assert!(!observer.mutex("never used").is_locked().await.unwrap());
    }
    if let Some(server) = store.server() {
        assert_eq!(server.keys(), []);
    }
}
