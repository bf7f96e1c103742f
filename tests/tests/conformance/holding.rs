//! The length of a hold, and the report of its end.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::{BRIEF, TestStore};
use auto_mutex_tests::was_lost;
use tokio::time::Instant;

const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn expire_ends_the_hold_and_tells_it(store: &dyn TestStore) {
    let client = store.member();
    let taken = Instant::now();
    let guard = client.mutex("m").expire(BRIEF).lock().await.unwrap();
    guard.check().unwrap();
    assert!(guard.expires_in() <= BRIEF);
    soon("the loss is told", guard.lost()).await;
    // The loss is reported at the local deadline, which is never later than the end of the lock in the store. The test
    // can only check that it is not reported much too early.
    assert!(taken.elapsed() >= BRIEF / 2);
    assert!(guard.is_lost());
    assert_eq!(guard.expires_in(), Duration::ZERO);
    let error = guard.check().unwrap_err();
    assert!(
        matches!(&error, LockError::Lost { name, .. } if name == "suite:m"),
        "{error:?}"
    );
}

pub(crate) async fn refresh_restarts_expire(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let guard = client.mutex("m").expire(BRIEF).lock().await.unwrap();
    guard.refresh(Duration::from_secs(20)).await.unwrap();
    assert!(guard.expires_in() > BRIEF * 2);
    tokio::time::sleep(BRIEF + SHORT).await;
    guard.check().unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    // A refresh can also shorten `expire`.
    guard.refresh(BRIEF / 2).await.unwrap();
    soon("the shorter expire ends it", guard.lost()).await;
    let error = guard.refresh(BRIEF).await.unwrap_err();
    assert!(matches!(error, LockError::Lost { .. }), "{error:?}");
    drop(soon("the next one", other.mutex("m").lock()).await.unwrap());
}

pub(crate) async fn the_lease_is_renewed_for_as_long_as_the_guard_lives(store: &dyn TestStore) {
    let (client, other) = (store.brief_member(), store.member());
    let reader = client.rw_lock("r").read().await.unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    // Without a second renewal, the lease would have ended.
    tokio::time::sleep(BRIEF * 3 / 2).await;
    guard.check().unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    reader.check().unwrap();
    assert!(other.rw_lock("r").try_write().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    // After the release, no renewal of the former hold affects the next one.
    let next = soon("free", other.mutex("m").lock()).await.unwrap();
    tokio::time::sleep(BRIEF / 2).await;
    next.check().unwrap();
}

pub(crate) async fn force_unlock_tells_the_former_holder(store: &dyn TestStore) {
    let (holder, breaker) = (store.member(), store.member());
    let guard = holder.mutex("m").lock().await.unwrap();
    assert!(breaker.mutex("m").force_unlock().await.unwrap());
    soon("the former holder is told", guard.lost()).await;
    assert!(guard.is_lost());
    let next = soon("free", breaker.mutex("m").lock()).await.unwrap();
    assert!(was_lost(guard.unlock().await));
    next.check().unwrap();
}

pub(crate) async fn an_expired_holder_lets_the_next_one_in(store: &dyn TestStore) {
    let (holder, next) = (store.member(), store.member());
    let guard = holder.mutex("m").expire(SHORT).lock().await.unwrap();
    let new = soon("the next one", next.mutex("m").lock()).await.unwrap();
    assert!(
        guard.is_lost(),
        "the former holder knew before the next one got in"
    );
    assert!(new.fencing_token() > guard.fencing_token());
}

pub(crate) async fn the_handle_refreshes_what_its_task_holds(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let mutex = client.mutex("m").expire(BRIEF);
    let guard = mutex.lock().await.unwrap();
    mutex.refresh(Duration::from_secs(20)).await.unwrap();
    assert!(guard.expires_in() > BRIEF * 2);
    assert!(other.mutex("m").refresh(BRIEF).await.is_err());
    guard.unlock().await.unwrap();
    assert!(mutex.refresh(BRIEF).await.is_err(), "nothing is held");
}

pub(crate) async fn never_expire_holds_on(store: &dyn TestStore) {
    let client = auto_mutex::Client::connect(store.config().lease(BRIEF).expire(SHORT)).unwrap();
    let guard = client.mutex("m").never_expire().lock().await.unwrap();
    tokio::time::sleep(BRIEF + SHORT).await;
    guard.check().unwrap();
    let short = client.mutex("other").lock().await.unwrap();
    soon("the client's expire", short.lost()).await;
}
