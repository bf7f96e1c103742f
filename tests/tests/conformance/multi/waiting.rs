//! Waiting for a busy lock: the locks before it are kept, and those after it stay free for others.

use auto_mutex_tests::seed::Seed;

use super::{all_free, is_free};
use crate::prelude::*;

pub(crate) async fn it_waits_with_what_comes_before_and_without_what_comes_after(
    store: &dyn TestStore,
) {
    let [holder, client] = store.members();
    let guard = holder.mutex("b").lock().await.unwrap();
    let waiting = tokio::spawn(async move { client.multi(["c", "b", "a"]).lock().await.unwrap() });
    waiters(&holder.mutex("b"), 1).await;
    becomes!("what comes after is free", is_free(&holder, "c").await);
    assert!(!is_free(&holder, "a").await);
    assert!(guard.unlock().await.unwrap());
    let all = soon("all", waiting).await.unwrap();
    assert!(!is_free(&holder, "c").await);
    assert!(all.waited() > Duration::ZERO);
    assert!(all.attempts() > 1);
    assert!(all.unlock().await.unwrap());
    all_free(&holder, &["a", "b", "c"]).await;
}

pub(crate) async fn what_was_granted_too_late_is_waited_for(store: &dyn TestStore) {
    let expire = Duration::from_millis(400);
    let client = store.member();
    // A first call, so that the next one needs nothing but its own requests.
    drop(client.multi(["a", "b"]).lock().await.unwrap());
    all_free(&client, &["a", "b"]).await;
    if !store.answer(false) {
        return;
    }
    let multi = client.multi(["a", "b"]).expire(expire);
    let call = tokio::spawn(async move { multi.lock().await });
    // The requests are executed after this sleep, so the answers cannot come before `expire` ends.
    tokio::time::sleep(expire * 2).await;
    assert!(store.answer(true));
    assert!(soon("all", call).await.unwrap().is_ok());
}

pub(crate) async fn several_busy_ones_are_waited_for_one_after_another(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let mut guards = Vec::new();
    for name in ["a", "c", "e"] {
        guards.push((name, holder.mutex(name).lock().await.unwrap()));
    }
    let waiting = tokio::spawn(async move {
        client
            .multi(["e", "d", "c", "b", "a"])
            .lock()
            .await
            .unwrap()
    });
    for (name, guard) in guards {
        waiters(&holder.mutex(name), 1).await;
        assert!(!waiting.is_finished());
        assert!(guard.unlock().await.unwrap());
    }
    let all = soon("all", waiting).await.unwrap();
    assert_eq!(all.names().count(), 5);
    assert!(all.unlock().await.unwrap());
}

pub(crate) async fn opposite_orders_cannot_block_each_other(store: &dyn TestStore) {
    let mut seed = Seed::announce("opposite_orders_cannot_block_each_other");
    let names = ["a", "b", "c", "d"];
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let client = store.member();
        let choices: Vec<Vec<&str>> = (0..12)
            .map(|_| (0..3).map(|_| *seed.pick(&names)).collect())
            .collect();
        tasks.push(tokio::spawn(async move {
            for chosen in choices {
                let guard = client.multi(chosen.iter().copied()).lock().await.unwrap();
                tokio::task::yield_now().await;
                guard.check().unwrap();
                drop(guard);
            }
        }));
    }
    ended("everybody gets in", tasks).await;
    all_free(&store.member(), &names).await;
}

pub(crate) async fn block_is_one_time_for_all(store: &dyn TestStore) {
    const BLOCK: Duration = Duration::from_secs(1);
    let [holder, client] = store.members();
    let first = holder.mutex("a").lock().await.unwrap();
    let last = holder.mutex("c").lock().await.unwrap();
    let multi = client.multi(["a", "b", "c"]).block(BLOCK);
    let waiting = tokio::spawn(async move { multi.lock().await.map(drop) });
    waiters(&holder.mutex("a"), 1).await;
    tokio::time::sleep(BLOCK * 3 / 5).await;
    first.unlock().await.unwrap();
    let error = soon("an answer", waiting).await.unwrap().unwrap_err();
    let LockError::Timeout {
        waited,
        holder: Some(_),
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert!(*waited >= BLOCK, "{waited:?}");
    let once = *waited < BLOCK * 3 / 2;
    assert!(once || !store.has_virtual_time(), "{waited:?}");
    last.unlock().await.unwrap();
    all_free(&holder, &["a", "b", "c"]).await;
}

pub(crate) async fn block_zero_does_not_wait(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let _guard = holder.mutex("b").lock().await.unwrap();
    let multi = client.multi(["a", "b", "c"]).block(Duration::ZERO);
    let waits = soon("an answer", multi.lock()).await.unwrap_err();
    let blocks = store.thread(move || multi.blocking_lock().unwrap_err());
    for error in [waits, blocks.await.unwrap()] {
        is!(error, LockError::Timeout { name, holder: Some(_), .. } if name == "suite:b");
    }
    all_free(&holder, &["a", "c"]).await;
    waiters(&holder.mutex("b"), 0).await;
}

pub(crate) async fn cancelling_at_any_moment_frees_all_names(store: &dyn TestStore) {
    let names = ["a", "b", "c"];
    let clients = store.members::<3>();
    at_any_moment("cancelling_at_any_moment_frees_all_names", 40, 5, |seed| {
        let chosen = [*seed.pick(&names), *seed.pick(&names)];
        let multi = seed.pick(&clients).multi(chosen);
        let block = seed.below(3);
        async move {
            match block {
                0 => multi.try_lock().await.unwrap(),
                1 => multi.block(Duration::from_micros(300)).lock().await.ok(),
                _ => Some(multi.lock().await.unwrap()),
            }
        }
    })
    .await;
    all_free(&store.member(), &names).await;
}

pub(crate) async fn retries_end_with_too_many_attempts_in_all(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let guard = holder.mutex("b").lock().await.unwrap();
    let pause = Duration::from_millis(10);
    for retries in [0, 3] {
        let multi = client.multi(["b", "a"]).retries(retries, pause);
        let error = soon("an answer", multi.lock()).await.unwrap_err();
        let LockError::TooManyAttempts {
            name,
            attempts,
            holder: Some(_),
            ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!((name.as_str(), *attempts), ("suite:b", retries + 1));
    }
    waiters(&holder.mutex("b"), 0).await;
    becomes!("it is given back", is_free(&holder, "a").await);
    let multi = client.multi(["a", "b"]).retries(3, Duration::ZERO);
    is!(multi.lock().await, Err(LockError::InvalidOption { .. }));
    // A later attempt gets what becomes free.
    let multi = client.multi(["a", "b"]).retries(1_000_000, pause);
    let trying = tokio::spawn(async move { multi.lock().await });
    becomes!("it tries", client.health().waiting == 1);
    guard.unlock().await.unwrap();
    let all = soon("all", trying).await.unwrap().unwrap();
    assert!(all.unlock().await.unwrap());
}

pub(crate) async fn an_error_of_one_name_frees_the_others(store: &dyn TestStore) {
    let [holder, client] = store.members();
    let _permit = holder.semaphore("b", 5).acquire().await.unwrap();
    let error = soon("an answer", client.multi(["a", "b", "c"]).lock()).await;
    let error = error.unwrap_err();
    is!(error, LockError::WrongKind { .. });
    all_free(&holder, &["a", "c"]).await;
}
