//! The name, kind and number of permits of a semaphore, and its deletion.

use auto_mutex::{LockError, LockKind};
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn another_size_is_a_mismatch(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let permit = a.semaphore("s", 3).acquire().await.unwrap();
    let other = b.semaphore("s", 5);
    for error in [
        soon("an answer", other.acquire()).await.unwrap_err(),
        other.try_acquire().await.unwrap_err(),
        other.available().await.unwrap_err(),
    ] {
        let LockError::PermitsMismatch {
            name,
            expected: 5,
            found: 3,
            ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(name, "suite:s");
    }
    // The holder is not affected. When all permits are back, another size may be used.
    assert_eq!(permit.release().await.unwrap(), 3);
    let permit = soon("another size", other.acquire_many(5)).await.unwrap();
    permit.release().await.unwrap();
}

pub(crate) async fn a_name_is_one_kind_of_lock_at_a_time(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let guard = a.mutex("s").lock().await.unwrap();
    let kinds = |error: LockError| match error {
        LockError::WrongKind {
            expected, found, ..
        } => (expected, found),
        error => panic!("{error:?}"),
    };
    let semaphore = b.semaphore("s", 5);
    for error in [
        semaphore.acquire().await.unwrap_err(),
        semaphore.try_acquire().await.unwrap_err(),
        semaphore.available().await.unwrap_err(),
    ] {
        assert_eq!(kinds(error), (LockKind::Semaphore, LockKind::Mutex));
    }
    let error = b.rw_lock("s").read().await.unwrap_err();
    assert_eq!(kinds(error), (LockKind::RwLock, LockKind::Mutex));
    guard.check().unwrap();
    guard.unlock().await.unwrap();
    let permit = b.semaphore("s", 5).acquire().await.unwrap();
    let error = a.mutex("s").try_lock().await.unwrap_err();
    assert_eq!(kinds(error), (LockKind::Mutex, LockKind::Semaphore));
    permit.release().await.unwrap();
    // A semaphore of one permit is not mistaken for a mutex.
    let permit = b.semaphore("s", 1).acquire().await.unwrap();
    let error = b.semaphore("s", 5).acquire().await.unwrap_err();
    let of_one = matches!(
        error,
        LockError::PermitsMismatch {
            expected: 5,
            found: 1,
            ..
        }
    );
    assert!(of_one, "{error:?}");
    permit.release().await.unwrap();
}

pub(crate) async fn it_exists_from_its_first_use_to_its_deletion(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    let (mine, theirs) = (a.semaphore("s", 2), b.semaphore("s", 2));
    assert!(!theirs.exists().await.unwrap());
    assert!(!theirs.delete().await.unwrap());
    mine.acquire().await.unwrap().release().await.unwrap();
    assert!(theirs.exists().await.unwrap());
    assert!(theirs.delete().await.unwrap());
    assert!(!mine.exists().await.unwrap());
    let thread = store.thread(move || {
        assert!(!mine.blocking_delete().unwrap());
        assert!(!mine.blocking_exists().unwrap());
        mine
    });
    let mine = thread.await.unwrap();
    mine.acquire().await.unwrap().release().await.unwrap();
    assert!(theirs.exists().await.unwrap(), "it can be used again");
}

pub(crate) async fn it_is_not_deleted_under_its_users(store: &dyn TestStore) {
    let (holder, waiter, other) = (store.member(), store.member(), store.member());
    let all = holder.semaphore("s", 2).acquire_many(2).await.unwrap();
    let waiting = tokio::spawn(async move { waiter.semaphore("s", 2).acquire().await.unwrap() });
    waiters(&other.semaphore("s", 2), 1).await;
    let error = other.semaphore("s", 2).delete().await.unwrap_err();
    let LockError::InUse {
        name,
        holders: 1,
        waiters: 1,
        ..
    } = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(name, "suite:s");
    all.release().await.unwrap();
    let permit = soon("the waiter", waiting).await.unwrap();
    // In a quorum, a majority is enough for the waiter's grant. Another server may receive the release later.
    becomes("the waiter is the only holder", async || {
        let error = other.semaphore("s", 2).delete().await.unwrap_err();
        match error {
            LockError::InUse {
                holders: 1,
                waiters,
                ..
            } => waiters == 0,
            error => panic!("{error:?}"),
        }
    })
    .await;
    drop(permit);
    becomes("it can be deleted", async || {
        other.semaphore("s", 2).delete().await.is_ok()
    })
    .await;
}

pub(crate) async fn who_breaks_it_frees_all_permits(store: &dyn TestStore) {
    let (a, b, breaker) = (store.member(), store.member(), store.member());
    let one = a.semaphore("s", 3).acquire().await.unwrap();
    let two = b.semaphore("s", 3).acquire_many(2).await.unwrap();
    let semaphore = breaker.semaphore("s", 3);
    assert_eq!(semaphore.info().await.unwrap().holders.len(), 2);
    assert!(semaphore.is_locked().await.unwrap());
    assert!(semaphore.force_unlock().await.unwrap());
    soon("both are told", async {
        one.lost().await;
        two.lost().await;
    })
    .await;
    assert!(!semaphore.is_locked().await.unwrap());
    assert!(!semaphore.force_unlock().await.unwrap());
    let all = soon("all are free", semaphore.acquire_many(3))
        .await
        .unwrap();
    drop((one, two));
    all.check().unwrap();
    assert_eq!(all.release().await.unwrap(), 3);
}
