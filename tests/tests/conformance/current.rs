//! `auto_mutex::current`: the locks of the body that runs here.

use auto_mutex::{Current, LockError, MultiGuard, MutexGuard, Term, current};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::stores::TestStore;

fn none() {
    assert!(matches!(current(), Err(LockError::NotProtected)));
}

fn each(current: &Current) -> Vec<(String, u64)> {
    let each = current.each();
    each.map(|(name, token)| (name.to_owned(), token)).collect()
}

pub(crate) async fn it_is_the_innermost_body(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    none();
    let (outer, inner) = (client.mutex("outer"), other.mutex("inner"));
    let body = outer.synchronize(async |outer: &MutexGuard| {
        let seen = current().unwrap();
        assert_eq!(
            (seen.name(), seen.fencing_token()),
            ("suite:outer", outer.fencing_token())
        );
        let inner = inner.synchronize(async |inner: &MutexGuard| {
            tokio::task::yield_now().await;
            let seen = current().unwrap();
            assert_eq!(
                (seen.name(), seen.fencing_token()),
                ("suite:inner", inner.fencing_token())
            );
            // A scope has no locks, and a guard that was taken by hand has no body.
            other
                .scope(async { assert_eq!(current().unwrap().name(), "suite:inner") })
                .await;
            let _by_hand = other.mutex("by-hand").lock().await.unwrap();
            assert_eq!(current().unwrap().name(), "suite:inner");
        });
        inner.await.unwrap();
        assert_eq!(current().unwrap().name(), "suite:outer");
        // Another task may get it.
        tokio::spawn(async move {
            none();
            seen.check().unwrap();
        })
        .await
        .unwrap();
        current().unwrap()
    });
    let after = body.await.unwrap();
    none();
    assert!(matches!(after.check(), Err(LockError::Lost { .. })));
}

pub(crate) async fn it_has_all_names_and_works_in_blocking_bodies(store: &dyn TestStore) {
    let client = store.member();
    store
        .thread(move || {
            let both = client.multi(["b", "a"]);
            let body = both.blocking_synchronize(|guard: &MultiGuard| {
                let seen = current().unwrap();
                let token = |name| guard.fencing_token_of(name).unwrap();
                let all = ["suite:a", "suite:b"].map(|name| (name.to_owned(), token(name)));
                assert_eq!(each(&seen), all);
                assert_eq!(seen.fencing_token(), guard.fencing_token());
                std::thread::scope(|scope| scope.spawn(none).join().unwrap());
            });
            body.unwrap();
            let lead = client.leader("seat").blocking_lead(|term: &Term| {
                let seen = current()?;
                assert_eq!(
                    (seen.name(), seen.fencing_token()),
                    (term.name(), term.number())
                );
                Ok::<_, LockError>(())
            });
            lead.unwrap();
            none();
        })
        .await
        .unwrap();
}

pub(crate) async fn a_lost_lock_is_an_error(store: &dyn TestStore) {
    let (client, breaker) = (store.member(), store.member());
    store
        .thread(move || {
            let body = client.mutex("m").blocking_synchronize(|guard| {
                current().unwrap();
                assert!(breaker.mutex("m").blocking_force_unlock().unwrap());
                eventually("the loss is known", || guard.is_lost());
                current().map(drop)
            });
            let seen = body.unwrap();
            assert!(matches!(seen, Err(LockError::Lost { name, .. }) if name == "suite:m"));
        })
        .await
        .unwrap();
}
