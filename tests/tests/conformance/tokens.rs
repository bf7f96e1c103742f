//! Fencing tokens grow with every grant of a name.

use crate::prelude::*;

pub(crate) async fn they_grow_with_every_grant_of_any_member(store: &dyn TestStore) {
    let clients = store.members::<2>();
    let mut last = 0;
    for round in 0..200 {
        let guard = clients[round % 3 % 2].mutex("m").lock().await.unwrap();
        assert!(guard.fencing_token() > last, "round {round}");
        last = guard.fencing_token();
        // Tokens grow after an awaited release, after a drop, and after `force_unlock`.
        match round % 5 {
            0 => drop(guard.unlock().await.unwrap()),
            1 => drop(clients[0].mutex("m").force_unlock().await.unwrap()),
            _ => {}
        }
    }
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            with(&clients[number % 2], |client| async move {
                client.mutex("m").lock().await.unwrap().fencing_token()
            })
        })
        .collect();
    let mut tokens = ended("a token", tasks).await;
    assert!(tokens.iter().all(|&token| token > last));
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 100, "no token twice");
}

pub(crate) async fn they_grow_beside_other_holders(store: &dyn TestStore) {
    let config = store.config().local_handoff(100, "60s");
    let (a, b) = (Client::connect(config).unwrap(), store.member());
    let first = a.semaphore("s", 2).acquire().await.unwrap();
    let beside = b.semaphore("s", 2).acquire().await.unwrap();
    let next = with(&a, |a| async move {
        a.semaphore("s", 2).acquire().await.unwrap()
    });
    waiters(&b.semaphore("s", 2), 1).await;
    drop(first);
    let next = soon("the permit of the first", next).await.unwrap();
    assert!(next.fencing_token() > beside.fencing_token());
}

pub(crate) async fn they_grow_across_members_that_come_and_go(store: &dyn TestStore) {
    // One member stays, so that a memory store does not end with its last member.
    let _stays = store.member();
    let mut last = 0;
    for _ in 0..5 {
        let client = store.member();
        let guard = client.mutex("m").lock().await.unwrap();
        assert!(guard.fencing_token() > last);
        last = guard.fencing_token();
        drop(guard);
        soon("shut down", client.shutdown()).await;
    }
}

pub(crate) async fn they_fit_a_signed_column(store: &dyn TestStore) {
    let guard = store.member().mutex("m").lock().await.unwrap();
    let token = guard.fencing_token();
    assert!(i64::try_from(token).is_ok());
    // A token is the microseconds since 1970, times 1024. The range is plausible for the rest of this century.
    let micros = token / 1024;
    let plausible = (1_600_000_000_000_000..4_102_444_800_000_000).contains(&micros);
    assert!(plausible, "{token}");
}
