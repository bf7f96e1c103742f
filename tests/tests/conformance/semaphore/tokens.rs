//! Signalled tokens: handed out once, in order, and returned by holders that did not use them.

use crate::prelude::*;

pub(crate) async fn tokens_come_before_permits_and_in_order(store: &dyn TestStore) {
    let [a, b] = store.members();
    let (a, b) = (a.semaphore("s", 1), b.semaphore("s", 1));
    for token in ["first", "", "first", "ünï {}%:\n\0"] {
        a.signal(token).await.unwrap();
    }
    assert_eq!(b.available().await.unwrap(), 5);
    assert!(b.exists().await.unwrap());
    let mut permits = Vec::new();
    let odd = "ünï {}%:\n\0";
    for token in [Some("first"), Some(""), Some("first"), Some(odd), None] {
        let permit = soon("one more", b.acquire()).await.unwrap();
        assert_eq!(permit.token(), token);
        assert_eq!(permit.units(), 1);
        permits.push(permit);
    }
    assert!(a.try_acquire().await.unwrap().is_none());
    let mut last = 0;
    for permit in &permits {
        assert!(permit.fencing_token() > last);
        last = permit.fencing_token();
    }
    drop(permits);
    becomes!("only the permit is back", a.available().await.unwrap() == 1);
}

pub(crate) async fn a_token_wakes_who_waits(store: &dyn TestStore) {
    let [waiter, other] = store.members();
    let waiting = tokio::spawn(async move {
        let permit = waiter.semaphore("s", 0).acquire().await.unwrap();
        let token = permit.token().map(str::to_owned);
        (token, permit.release().await.unwrap())
    });
    waiters(&other.semaphore("s", 0), 1).await;
    let semaphore = other.semaphore("s", 0);
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    let signals = semaphore.clone();
    let thread = store.thread(move || signals.blocking_signal("go"));
    thread.await.unwrap().unwrap();
    let (token, left) = soon("the token", waiting).await.unwrap();
    assert_eq!((token.as_deref(), left), (Some("go"), 0));
    let again = semaphore.try_acquire().await.unwrap();
    assert!(again.is_none(), "only once");
}

pub(crate) async fn many_do_not_take_tokens(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 2);
    semaphore.signal("t").await.unwrap();
    let two = soon("two permits", semaphore.acquire_many(2)).await;
    let two = two.unwrap();
    assert_eq!(two.token(), None);
    assert_eq!(semaphore.available().await.unwrap(), 1);
    let token = soon("the token", semaphore.acquire()).await.unwrap();
    assert_eq!(token.token(), Some("t"));
    assert_eq!(two.release().await.unwrap(), 2);
    assert_eq!(token.release().await.unwrap(), 2, "it is used up");
}

pub(crate) async fn a_token_that_was_not_used_goes_back_to_its_place(store: &dyn TestStore) {
    let [a, b] = store.members();
    let (mine, theirs) = (a.semaphore("s", 0), b.semaphore("s", 0));
    for token in ["one", "two"] {
        mine.signal(token).await.unwrap();
    }
    let next = async || soon("a token", theirs.acquire()).await.unwrap();
    // The holder of the token panics.
    let panics = with(&mine, |mine| async move {
        let _permit = mine.acquire().await.unwrap();
        panic!("as told");
    });
    assert!(soon("the panic", panics).await.unwrap_err().is_panic());
    becomes!("it is back", theirs.available().await.unwrap() == 2);
    // The holder of the token loses it by `force_unlock`.
    let broken = next().await;
    assert_eq!(broken.token(), Some("one"));
    assert!(mine.force_unlock().await.unwrap());
    soon("the loss", broken.lost()).await;
    assert!(broken.release().await.is_err());
    assert_eq!(next().await.token(), Some("one"), "it kept its place");
}

pub(crate) async fn a_cancelled_acquire_uses_no_token(store: &dyn TestStore) {
    let (waiter, other) = (store.member().semaphore("s", 0), store.member());
    let semaphore = other.semaphore("s", 0);
    for _ in 0..20 {
        let (got, has) = tokio::sync::oneshot::channel();
        let cancelled = with(&waiter, |waiter| async move {
            got.send(waiter.acquire().await.unwrap()).unwrap()
        });
        waiters(&other.semaphore("s", 0), 1).await;
        semaphore.signal("t").await.unwrap();
        // The grant is in flight.
        cancelled.abort();
        let permit: Permit = match soon("cancelled or in", has).await {
            Ok(permit) => permit,
            Err(_) => soon("the next one", semaphore.acquire()).await.unwrap(),
        };
        assert_eq!(permit.token(), Some("t"));
        assert_eq!(permit.release().await.unwrap(), 0);
    }
}

pub(crate) async fn a_token_survives_its_dead_holder(store: &dyn TestStore) {
    let [brief, other] = store.members();
    other.semaphore("s", 0).signal("t").await.unwrap();
    let brief = brief.semaphore("s", 0).expire("300ms");
    let permit = brief.acquire().await.unwrap();
    soon("its time is over", permit.lost()).await;
    let again = soon("the next one", other.semaphore("s", 0).acquire()).await;
    assert_eq!(again.unwrap().token(), Some("t"));
    drop(permit);
}

pub(crate) async fn deletion_takes_the_tokens_with_it(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 1);
    semaphore.signal("t").await.unwrap();
    assert!(semaphore.delete().await.unwrap());
    assert!(!semaphore.exists().await.unwrap());
    let permit = semaphore.acquire().await.unwrap();
    assert_eq!(permit.token(), None);
}

pub(crate) async fn a_token_has_a_limit(store: &dyn TestStore) {
    let client = store.member();
    let semaphore = client.semaphore("s", 0);
    let limit = "x".repeat(64 * 1024);
    semaphore.signal(limit.as_str()).await.unwrap();
    let error = semaphore.signal(format!("{limit}x")).await.unwrap_err();
    is!(
        error,
        LockError::InvalidOption {
            option: "token",
            ..
        }
    );
    let permit = soon("the long one", semaphore.acquire()).await.unwrap();
    assert_eq!(permit.token(), Some(limit.as_str()));
}
