//! All locks of a call are taken, or none.

use tokio::time::Instant;

use super::{all_free, is_free};
use crate::prelude::*;

/// For this long, a call that did not get all locks waits for the store to confirm the release of the others.
const MOMENT: Duration = Duration::from_secs(1);

pub(crate) async fn all_are_held_each_by_its_name(store: &dyn TestStore) {
    let [client, other] = store.members();
    let guard = soon("all", client.multi(["b", "a", "c"]).lock()).await;
    let guard = guard.unwrap();
    for name in ["a", "b", "c"] {
        assert!(other.mutex(name).try_lock().await.unwrap().is_none());
    }
    assert!(other.mutex("d").try_lock().await.unwrap().is_some());
    assert_eq!(guard.attempts(), 1);
    assert!(guard.expires_in() > Duration::from_secs(60));
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    for name in ["a", "b", "c"] {
        assert!(other.mutex(name).try_lock().await.unwrap().is_some());
    }
    // A dropped guard releases too.
    drop(client.multi(["a", "b"]).lock().await.unwrap());
    all_free(&other, &["a", "b", "c"]).await;
}

pub(crate) async fn order_and_repetition_do_not_matter(store: &dyn TestStore) {
    let client = store.member();
    let names = ["z", "a:b", "z", "ü", "a", "a"];
    let guard = soon("all", client.multi(names).lock()).await.unwrap();
    let held: Vec<_> = guard.names().collect();
    assert_eq!(held, ["ü", "a", "a:b", "z"]);
    assert!(guard.unlock().await.unwrap());
    let one = client.multi(["z", "z"]).lock().await.unwrap();
    assert_eq!(one.names().count(), 1);
    assert!(one.unlock().await.unwrap());
}

/// Calls that do not get `b` release `a` and `c` before they return, so that every member finds them free.
pub(crate) async fn who_hears_that_one_is_busy_finds_the_others_free(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let _guard = holder.mutex("b").lock().await.unwrap();
    let multi = client.multi(["a", "b", "c"]);
    let briefly = multi.clone().block(Duration::from_millis(20));
    let polling = multi.clone().retries(2, Duration::from_millis(5));
    for _ in 0..5 {
        others_are_free(&holder, async || multi.try_lock().await.unwrap().is_none()).await;
        others_are_free(&holder, async || briefly.lock().await.is_err()).await;
        others_are_free(&holder, async || polling.lock().await.is_err()).await;
        let (multi, briefly) = (multi.clone(), briefly.clone());
        let tries = move || multi.blocking_try_lock().unwrap().is_none();
        others_are_free(&holder, async || store.thread(tries.clone()).await.unwrap()).await;
        let waits = move || briefly.blocking_lock().is_err();
        others_are_free(&holder, async || store.thread(waits.clone()).await.unwrap()).await;
    }
}

/// Checks that `fails` does not get all locks, and that the others are free afterwards.
async fn others_are_free(other: &Client, mut fails: impl AsyncFnMut() -> bool) {
    loop {
        let started = Instant::now();
        assert!(soon("an answer", fails()).await);
        let mut free = 0;
        for name in ["a", "c"] {
            if let Some(guard) = other.mutex(name).try_lock().await.unwrap() {
                free += 1;
                // The guard is released with confirmation, so that the next call finds this lock free.
                guard.unlock().await.unwrap();
            }
        }
        if free == 2 {
            return;
        }
        // A lock may still be held only if the confirmation of its release never came.
        assert!(started.elapsed() >= MOMENT, "{:?}", started.elapsed());
        all_free(other, &["a", "c"]).await;
    }
}

pub(crate) async fn no_names_are_refused(store: &dyn TestStore) {
    let client = store.member();
    let none = client.multi(Vec::<String>::new());
    is!(none.lock().await, Err(LockError::InvalidName { .. }));
    is!(none.blocking_try_lock(), Err(LockError::InvalidName { .. }));
    is!(none.info().await, Err(LockError::InvalidName { .. }));
    is!(
        client.multi(["a", ""]).lock().await,
        Err(LockError::InvalidName { .. })
    );
    assert!(is_free(&client, "a").await);
}

pub(crate) async fn each_name_has_its_token(store: &dyn TestStore) {
    let client = store.member();
    let before = client.mutex("b").lock().await.unwrap();
    let token = before.fencing_token();
    before.unlock().await.unwrap();
    let guard = client.multi(["a", "b"]).lock().await.unwrap();
    let (a, b) = (guard.fencing_token_of("a"), guard.fencing_token_of("b"));
    assert!(b.unwrap() > token);
    assert_eq!(guard.fencing_token(), a.max(b).unwrap());
    for name in guard.names() {
        assert!(guard.fencing_token_of(name).is_some(), "{name}");
    }
    assert_eq!(guard.fencing_token_of("suite:b"), b);
    assert_eq!(guard.fencing_token_of("c"), None);
    assert_eq!(guard.fencing_token_of(""), None);
}

pub(crate) async fn the_blocking_twins_take_all_too(store: &dyn TestStore) {
    let [client, other] = store.members();
    let thread = store.thread(move || {
        let multi = client.multi(["b", "a"]).block(Duration::from_secs(10));
        let guard = multi.blocking_lock().unwrap();
        let tried = other.multi(["c", "b"]).blocking_try_lock();
        assert!(tried.unwrap().is_none());
        assert!(multi.blocking_is_owned().unwrap());
        guard.blocking_refresh(Duration::from_secs(100)).unwrap();
        assert!(guard.blocking_unlock().unwrap());
        let both = other.multi(["a", "b"]);
        let names = both.blocking_synchronize(|guard: &MultiGuard| {
            assert!(!multi.blocking_is_owned().unwrap());
            guard.names().count()
        });
        assert_eq!(names.unwrap(), 2);
        let guard = client.mutex("b").blocking_lock().unwrap();
        (guard, client, other)
    });
    let (guard, client, other) = thread.await.unwrap();
    let waits = store.thread(move || other.multi(["a", "b"]).blocking_lock().unwrap().waited());
    waiters(&client.mutex("b"), 1).await;
    assert!(guard.unlock().await.unwrap());
    assert!(waits.await.unwrap() > Duration::ZERO);
}

pub(crate) async fn it_runs_a_body_under_all(store: &dyn TestStore) {
    let [client, other] = store.members();
    let multi = client.multi(["a", "b"]);
    let body = multi.synchronize(async |guard: &MultiGuard| {
        assert!(other.mutex("b").try_lock().await.unwrap().is_none());
        guard.names().count()
    });
    assert_eq!(soon("the body", body).await.unwrap(), 2);
    let panics = tokio::spawn(async move {
        let result: Result<(), _> = multi.synchronize(async |_| panic!("as told")).await;
        result
    });
    assert!(soon("the panic", panics).await.unwrap_err().is_panic());
    all_free(&other, &["a", "b"]).await;
}

pub(crate) async fn a_thread_that_would_wait_for_itself_is_told(store: &dyn TestStore) {
    let client = store.member();
    let guard = client.mutex("b").lock().await.unwrap();
    is!(
        client.multi(["a", "b"]).blocking_lock(),
        Err(LockError::Deadlock { .. })
    );
    guard.check().unwrap();
    let other = store.member();
    waiters(&other.mutex("b"), 0).await;
    let a = soon("it was given back", other.mutex("a").lock()).await;
    drop(a.unwrap());
}
