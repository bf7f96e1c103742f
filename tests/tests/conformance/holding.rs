//! The length of a hold, and the report of its end.

use tokio::time::{Instant, sleep};

use crate::prelude::*;

const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn expire_ends_the_hold_and_tells_it(store: &dyn TestStore) {
    let [client, other] = store.members();
    let taken = Instant::now();
    let guard = client.mutex("m").expire(SHORT).lock().await.unwrap();
    assert!(guard.expires_in() <= SHORT);
    let next = soon("the next one", other.mutex("m").lock()).await.unwrap();
    assert!(
        guard.is_lost(),
        "the former holder knew before the next one got in"
    );
    // The loss is reported at the local deadline, which is never later than the end of the lock in the store. The test
    // can only check that it is not reported much too early.
    assert!(taken.elapsed() >= SHORT / 2);
    soon("the loss is told", guard.lost()).await;
    assert_eq!(guard.expires_in(), Duration::ZERO);
    is!(guard.check(), Err(LockError::Lost { name, .. }) if name == "suite:m");
    assert!(next.fencing_token() > guard.fencing_token());
    // A late unlock says so, and frees nobody else.
    assert!(was_lost(guard.unlock().await));
    next.check().unwrap();
    assert!(client.mutex("m").try_lock().await.unwrap().is_none());
    assert!(next.unlock().await.unwrap());
}

pub(crate) async fn refresh_restarts_expire(store: &dyn TestStore) {
    let [client, other] = store.members();
    let guard = client.mutex("m").expire(LONG).lock().await.unwrap();
    guard.refresh(LONG * 4).await.unwrap();
    assert!(guard.expires_in() > LONG * 2);
    if store.has_virtual_time() {
        sleep(LONG * 2).await;
        guard.check().unwrap();
    }
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    // A refresh can also shorten `expire`, which may be over before the answer comes.
    drop(guard.refresh(SHORT).await);
    soon("the shorter expire ends it", guard.lost()).await;
    is!(guard.refresh(LONG).await, Err(LockError::Lost { .. }));
}

pub(crate) async fn the_lease_is_renewed_for_as_long_as_the_guard_lives(store: &dyn TestStore) {
    let [client, other] = store.members();
    let (mutex, lock) = (other.mutex("m"), other.rw_lock("r"));
    let reader = client.rw_lock("r").read().await.unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    if store.has_virtual_time() {
        // Without a second renewal, the lease would have ended.
        sleep(LONG * 3 / 2).await;
    } else {
        let mut least = [LONG; 2];
        let mut renewed = [false; 2];
        becomes!("both are renewed", {
            for (number, info) in [mutex.info().await, lock.info().await]
                .into_iter()
                .enumerate()
            {
                let left = info.unwrap().expires_in.unwrap_or_default();
                // Only a renewal makes it greater.
                renewed[number] |= left > least[number];
                least[number] = left;
            }
            renewed == [true; 2]
        });
    }
    guard.check().unwrap();
    reader.check().unwrap();
    assert!(mutex.try_lock().await.unwrap().is_none());
    assert!(lock.try_write().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    // After the release, no renewal of the former hold affects the next one.
    let next = soon("free", mutex.lock()).await.unwrap();
    if store.has_virtual_time() {
        sleep(LONG / 2).await;
    }
    next.check().unwrap();
}

pub(crate) async fn force_unlock_tells_the_former_holder(store: &dyn TestStore) {
    let [holder, breaker] = store.members();
    let mutex = breaker.mutex("m");
    assert!(!mutex.force_unlock().await.unwrap(), "nobody holds it");
    let guard = holder.mutex("m").lock().await.unwrap();
    assert!(mutex.force_unlock().await.unwrap());
    assert!(!mutex.force_unlock().await.unwrap(), "not any more");
    soon("the former holder is told", guard.lost()).await;
    let forced =
        |error| matches!(error, LockError::Lost { cause, .. } if cause == LossCause::Forced);
    assert!(forced(guard.check().unwrap_err()));
    let next = soon("free", mutex.lock()).await.unwrap();
    assert!(forced(guard.unlock().await.unwrap_err()));
    next.check().unwrap();
    assert!(holder.mutex("m").try_lock().await.unwrap().is_none());
    assert!(next.unlock().await.unwrap());
}

pub(crate) async fn the_handle_refreshes_what_its_task_holds(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = client.mutex("m").expire(LONG);
    let guard = mutex.lock().await.unwrap();
    mutex.refresh(LONG * 4).await.unwrap();
    assert!(guard.expires_in() > LONG * 2);
    assert!(was_lost(other.mutex("m").refresh(LONG).await));
    guard.unlock().await.unwrap();
    assert!(was_lost(mutex.refresh(LONG).await), "nothing is held");
}

pub(crate) async fn never_expire_holds_on(store: &dyn TestStore) {
    let client = Client::connect(store.config().expire(SHORT)).unwrap();
    let guard = client.mutex("m").never_expire().lock().await.unwrap();
    let short = client.mutex("other").lock().await.unwrap();
    soon("the client's expire", short.lost()).await;
    guard.check().unwrap();
}
