//! A hold passes from one member to another, and the lock is not free in between.

use crate::prelude::*;

pub(crate) async fn a_ticket_takes_the_lock_to_another_member(store: &dyn TestStore) {
    let [here, there, other] = store.members();
    let guard = here.mutex("m").lock().await.unwrap();
    let token = guard.fencing_token();
    let waiting = with(&other, |other| async move { other.mutex("m").lock().await });
    waiters(&here.mutex("m"), 1).await;
    let text = guard.into_ticket().unwrap().to_string();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    let ticket: Ticket = text.parse().unwrap();
    let guard = there.adopt(&ticket).await.unwrap();
    assert_eq!(guard.name(), ticket.name());
    assert!(guard.fencing_token() > token);
    // A second adopter comes too late.
    is!(other.adopt(&ticket).await, Err(LockError::Lost { .. }));
    guard.check().unwrap();
    // The waiter waits on through the handoff.
    assert!(!waiting.is_finished());
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
    drop(soon("the waiter", waiting).await.unwrap().unwrap());
    is!(here.adopt(&ticket).await, Err(LockError::Lost { .. }));
}

/// The store keeps a grant by message for two seconds, unless it is claimed.
pub(crate) async fn a_lock_that_was_just_granted_can_be_handed_over(store: &dyn TestStore) {
    let [here, there, other] = store.members();
    let held = other.mutex("m").lock().await.unwrap();
    let waiting = with(&here, |here| async move { here.mutex("m").lock().await });
    waiters(&other.mutex("m"), 1).await;
    drop(held);
    let guard = soon("the lock", waiting).await.unwrap().unwrap();
    let ticket = guard.into_ticket().unwrap();
    becomes!("the store keeps it longer", {
        let left = other.mutex("m").info().await.unwrap().expires_in;
        left > Some(Duration::from_secs(3))
    });
    let guard = there.adopt(&ticket).await.unwrap();
    assert!(guard.unlock().await.unwrap());
}

pub(crate) async fn a_hold_that_is_over_makes_no_ticket(store: &dyn TestStore) {
    let client = store.member();
    let guard = client.mutex("m").lock().await.unwrap();
    assert!(client.mutex("m").force_unlock().await.unwrap());
    soon("the loss", guard.lost()).await;
    is!(guard.into_ticket(), Err(LockError::Lost { .. }));
    let nobody = "00000000000000000000000000000000@";
    for text in ["", "@", "x@y", nobody, &format!("{nobody}a b")] {
        is!(text.parse::<Ticket>(), Err(LockError::InvalidOption { .. }));
    }
}
