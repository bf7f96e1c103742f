//! The name, kind and number of permits of a semaphore, and its deletion.

use crate::prelude::*;

/// As while a version of a program with another number is rolled out.
pub(crate) async fn the_smallest_number_of_permits_counts(store: &dyn TestStore) {
    let [a, b] = store.members();
    let (few, many) = (a.semaphore("s", 2), b.semaphore("s", 4));
    let old = few.acquire().await.unwrap();
    let new = many.acquire().await.unwrap();
    assert!(many.try_acquire().await.unwrap().is_none());
    assert!(few.try_acquire().await.unwrap().is_none());
    assert_eq!(many.available().await.unwrap(), 0);
    for error in [
        soon("an answer", many.acquire_many(3)).await.unwrap_err(),
        many.try_acquire_many(3).await.unwrap_err(),
    ] {
        assert_eq!(error.name(), Some("suite:s"));
        is!(
            error,
            LockError::PermitsMismatch {
                expected: 4,
                found: 2,
                ..
            }
        );
    }
    // Without a call of the smaller number, the larger one counts.
    old.release().await.unwrap();
    let three = soon("a permit", many.acquire_many(3)).await.unwrap();
    is!(
        few.try_acquire().await.unwrap_err(),
        LockError::PermitsMismatch {
            expected: 2,
            found: 4,
            ..
        }
    );
    three.release().await.unwrap();
    // Those that hold keep their permits, and a new one waits until there are fewer.
    let others = [many.acquire().await.unwrap(), many.acquire().await.unwrap()];
    let waiting = tokio::spawn(async move { few.acquire().await });
    waiters(&b.semaphore("s", 4), 1).await;
    for permit in others {
        assert!(!waiting.is_finished());
        permit.release().await.unwrap();
    }
    let permit = soon("a permit", waiting).await.unwrap().unwrap();
    permit.release().await.unwrap();
    new.release().await.unwrap();
}

pub(crate) async fn a_name_is_one_kind_of_lock_at_a_time(store: &dyn TestStore) {
    let [a, b] = store.members();
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
    let none = a.semaphore("s", 5).try_acquire().await.unwrap();
    assert!(none.is_none());
    permit.release().await.unwrap();
}

pub(crate) async fn it_exists_from_its_first_use_to_its_deletion(store: &dyn TestStore) {
    let [a, b] = store.members();
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
    let [holder, waiter, other] = store.members();
    let all = holder.semaphore("s", 2).acquire_many(2).await.unwrap();
    let waiting = tokio::spawn(async move { waiter.semaphore("s", 2).acquire().await.unwrap() });
    waiters(&other.semaphore("s", 2), 1).await;
    let other = other.semaphore("s", 2);
    let error = other.delete().await.unwrap_err();
    assert_eq!(error.name(), Some("suite:s"));
    is!(
        error,
        LockError::InUse {
            holders: 1,
            waiters: 1,
            ..
        }
    );
    all.release().await.unwrap();
    let permit = soon("the waiter", waiting).await.unwrap();
    // In a quorum, a majority is enough for the waiter's grant. Another server may receive the release later.
    becomes!("the waiter is the only holder", {
        match other.delete().await.unwrap_err() {
            LockError::InUse {
                holders: 1,
                waiters,
                ..
            } => waiters == 0,
            error => panic!("{error:?}"),
        }
    });
    drop(permit);
    becomes!("it can be deleted", other.delete().await.is_ok());
}

pub(crate) async fn who_breaks_it_frees_all_permits(store: &dyn TestStore) {
    let [a, b, breaker] = store.members();
    let one = a.semaphore("s", 3).acquire().await.unwrap();
    let two = b.semaphore("s", 3).acquire_many(2).await.unwrap();
    let semaphore = breaker.semaphore("s", 3);
    assert_eq!(semaphore.info().await.unwrap().holders.len(), 2);
    assert!(semaphore.is_locked().await.unwrap());
    assert!(semaphore.force_unlock().await.unwrap());
    soon("it is told", one.lost()).await;
    soon("the other too", two.lost()).await;
    assert!(!semaphore.is_locked().await.unwrap());
    assert!(!semaphore.force_unlock().await.unwrap());
    let all = soon("all are free", semaphore.acquire_many(3)).await;
    let all = all.unwrap();
    is!(one.release().await, Err(LockError::Lost { .. }));
    drop(two);
    all.check().unwrap();
    assert_eq!(all.release().await.unwrap(), 3);
}
