//! A hold passes from one member to another, and the lock is not free in between.

use std::time::Duration;

use auto_mutex::{LockError, Ticket};
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn a_ticket_takes_the_lock_to_another_member(store: &dyn TestStore) {
    let (here, there, other) = (store.member(), store.member(), store.member());
    let guard = here.mutex("m").lock().await.unwrap();
    let token = guard.fencing_token();
    let text = guard.into_ticket().unwrap().to_string();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    let ticket: Ticket = text.parse().unwrap();
    let guard = there.adopt(&ticket).await.unwrap();
    assert_eq!(guard.name(), ticket.name());
    assert!(guard.fencing_token() > token);
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    assert!(other.mutex("m").try_lock().await.unwrap().is_some());
}

pub(crate) async fn a_second_adopter_comes_too_late(store: &dyn TestStore) {
    let (here, there, other) = (store.member(), store.member(), store.member());
    let ticket = here.mutex("m").lock().await.unwrap().into_ticket().unwrap();
    let guard = there.adopt(&ticket).await.unwrap();
    let late = other.adopt(&ticket).await;
    assert!(matches!(late, Err(LockError::Lost { .. })), "{late:?}");
    guard.check().unwrap();
    assert!(guard.unlock().await.unwrap());
    let late = here.adopt(&ticket).await;
    assert!(matches!(late, Err(LockError::Lost { .. })), "{late:?}");
}

pub(crate) async fn the_waiters_wait_on_through_a_handoff(store: &dyn TestStore) {
    let (here, there, other) = (store.member(), store.member(), store.member());
    let guard = here.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { other.mutex("m").lock().await });
    waiters(&here.mutex("m"), 1).await;
    let ticket = guard.into_ticket().unwrap();
    let guard = there.adopt(&ticket).await.unwrap();
    assert!(!waiting.is_finished());
    assert!(guard.unlock().await.unwrap());
    drop(soon("the waiter", waiting).await.unwrap().unwrap());
}

/// The store keeps a grant by message for two seconds, unless it is claimed.
pub(crate) async fn a_lock_that_was_just_granted_can_be_handed_over(store: &dyn TestStore) {
    let (here, there, other) = (store.member(), store.member(), store.member());
    let held = other.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { here.mutex("m").lock().await });
    waiters(&other.mutex("m"), 1).await;
    drop(held);
    let guard = soon("the lock", waiting).await.unwrap().unwrap();
    let ticket = guard.into_ticket().unwrap();
    becomes("the store keeps it longer", async || {
        let left = other.mutex("m").info().await.unwrap().expires_in;
        left > Some(Duration::from_secs(3))
    })
    .await;
    let guard = there.adopt(&ticket).await.unwrap();
    assert!(guard.unlock().await.unwrap());
}

pub(crate) async fn a_hold_that_is_over_makes_no_ticket(store: &dyn TestStore) {
    let client = store.member();
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(client.mutex("m").force_unlock().await.unwrap());
    soon("the loss", guard.lost()).await;
    let ticket = guard.into_ticket();
    assert!(matches!(ticket, Err(LockError::Lost { .. })), "{ticket:?}");
    for text in [
        "",
        "@",
        "x@y",
        "00000000000000000000000000000000@",
        "00000000000000000000000000000000@a b",
    ] {
        let ticket = text.parse::<Ticket>();
        assert!(
            matches!(ticket, Err(LockError::InvalidOption { .. })),
            "{ticket:?}"
        );
    }
}
