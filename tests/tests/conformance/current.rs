//! `auto_mutex::current`: the locks of the body that runs here.

use crate::prelude::*;

fn none() {
    is!(current(), Err(LockError::NotProtected));
}

#[track_caller]
fn innermost(name: &str, token: u64) {
    let seen = current().unwrap();
    assert_eq!((seen.name(), seen.fencing_token()), (name, token));
}

pub(crate) async fn it_is_the_innermost_body(store: &dyn TestStore) {
    let [client, other] = store.members();
    none();
    let (outer, inner) = (client.mutex("outer"), other.mutex("inner"));
    let body = outer.synchronize(async |outer: &MutexGuard| {
        innermost("suite:outer", outer.fencing_token());
        let body = inner.synchronize(async |inner: &MutexGuard| {
            tokio::task::yield_now().await;
            let is_inner = || innermost("suite:inner", inner.fencing_token());
            is_inner();
            // A scope has no locks, and a guard that was taken by hand has no body.
            other.scope(async { is_inner() }).await;
            let _by_hand = other.mutex("by-hand").lock().await.unwrap();
            is_inner();
        });
        body.await.unwrap();
        innermost("suite:outer", outer.fencing_token());
        // Another task may get it.
        let seen = current().unwrap();
        let task = tokio::spawn(async move {
            none();
            seen.check().unwrap();
        });
        task.await.unwrap();
        current().unwrap()
    });
    let after = body.await.unwrap();
    none();
    is!(after.check(), Err(LockError::Lost { .. }));
}

pub(crate) async fn it_has_all_names_and_works_in_blocking_bodies(store: &dyn TestStore) {
    let [client, breaker] = store.members();
    let thread = store.thread(move || {
        let both = client.multi(["b", "a"]);
        let body = both.blocking_synchronize(|guard: &MultiGuard| {
            let seen = current().unwrap();
            let token = |name| guard.fencing_token_of(name).unwrap();
            let all = ["suite:a", "suite:b"].map(|name| (name, token(name)));
            assert!(seen.each().eq(all), "{seen:?}");
            assert_eq!(seen.fencing_token(), guard.fencing_token());
            std::thread::scope(|scope| scope.spawn(none).join().unwrap());
        });
        body.unwrap();
        let lead = client.leader("seat").blocking_lead(|term: &Term| {
            innermost(term.name(), term.number());
            Ok::<_, LockError>(())
        });
        lead.unwrap();
        none();
        // A lost lock is an error.
        let body = client.mutex("m").blocking_synchronize(|guard| {
            current().unwrap();
            assert!(breaker.mutex("m").blocking_force_unlock().unwrap());
            eventually("the loss is known", || guard.is_lost());
            current().map(drop)
        });
        is!(body.unwrap(), Err(LockError::Lost { name, .. }) if name == "suite:m");
    });
    thread.await.unwrap();
}
