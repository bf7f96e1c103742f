//! `expire` of nested calls: each `expire` ends the body of its own call, and does not change that of the outer call.

use crate::prelude::*;

/// An `expire` that ends while a test waits for it.
const SHORT: Duration = Duration::from_millis(600);
/// An `expire` that does not end in any test.
const LONG: Duration = Duration::from_secs(3600);

/// For one kind of lock, nested calls do not change the outer `expire`, and the inner one ends only the inner body.
macro_rules! each_by_itself {
    ($lock:expr, $outer:ident($guard:ty), $inner:ident($inner_guard:ty)) => {
        let lock = $lock.reentrant();
        let with = |expire| lock.clone().expire(expire);
        let (long, longer, short) = (with(LONG), with(LONG * 5), with(SHORT));
        let body = long.$outer(async |outer: &$guard| {
            let body = longer.$inner(async |inner: &$inner_guard| inner.expires_in());
            let left = soon("the inner body", body).await.unwrap();
            assert!(left <= LONG, "{left:?}");
            assert!(outer.expires_in() <= LONG, "{:?}", outer.expires_in());
            let body = short.$inner(async |inner: &$inner_guard| {
                assert!(inner.expires_in() <= SHORT, "{:?}", inner.expires_in());
                std::future::pending::<()>().await;
            });
            is!(soon("its end", body).await, Err(LockError::Lost { .. }));
            outer.check().unwrap();
            let left = outer.expires_in();
            assert!(left > LONG / 2 && left <= LONG, "{left:?}");
            // The lock can be entered again.
            let body = long.$inner(async |_: &$inner_guard| ());
            soon("the inner body", body).await.unwrap();
        });
        soon("the outer body", body).await.unwrap();
    };
}

#[rustfmt::skip]
pub(crate) async fn each_ends_its_own_body(store: &dyn TestStore) {
    let client = store.member();
    let (reads, writes, both) = (client.rw_lock("r"), client.rw_lock("w"), client.rw_lock("wr"));
    each_by_itself!(client.mutex("m"), synchronize(MutexGuard), synchronize(MutexGuard));
    each_by_itself!(client.multi(["b", "a"]), synchronize(MultiGuard), synchronize(MultiGuard));
    each_by_itself!(client.semaphore("s", 3), synchronize(Permit), synchronize(Permit));
    each_by_itself!(reads, synchronize_read(RwLockReadGuard), synchronize_read(RwLockReadGuard));
    each_by_itself!(writes, synchronize_write(RwLockWriteGuard), synchronize_write(RwLockWriteGuard));
    each_by_itself!(both, synchronize_write(RwLockWriteGuard), synchronize_read(RwLockReadGuard));
}

pub(crate) async fn the_outer_one_ends_all_inside(store: &dyn TestStore) {
    let [client, other] = store.members();
    let mutex = client.mutex("m").reentrant();
    let (long, short) = (mutex.clone().expire(LONG), mutex.expire(SHORT));
    let forever = async |_: &MutexGuard| std::future::pending::<()>().await;
    let body = short.synchronize(async |_: &MutexGuard| long.synchronize(forever).await);
    // Either the inner or the outer call reports the loss.
    let lost = match soon("the end", body).await {
        Ok(inner) => inner.unwrap_err(),
        Err(error) => error,
    };
    is!(lost, LockError::Lost { .. });
    drop(soon("it is free", other.mutex("m").lock()).await.unwrap());
    // An `expire` in the middle of three calls ends the call inside it too.
    let body = long.synchronize(async |outer: &MutexGuard| {
        let body = short.synchronize(async |_: &MutexGuard| {
            if let Ok(innermost) = long.lock().await {
                assert!(innermost.expires_in() <= SHORT);
            }
            std::future::pending::<()>().await;
        });
        let error = soon("the end", body).await.unwrap_err();
        is!(error, LockError::Lost { .. });
        outer.check().unwrap();
    });
    soon("the outer body", body).await.unwrap();
}

pub(crate) async fn a_guard_taken_inside_tells_its_own(store: &dyn TestStore) {
    let (mutex, other) = (
        store.member().mutex("m").reentrant(),
        store.member().mutex("m"),
    );
    let task = tokio::spawn(async move {
        let outer = mutex.clone().expire(LONG).lock().await.unwrap();
        let by_block = mutex.clone().expire(LONG * 5).try_lock().await.unwrap();
        let by_block = by_block.expect("it is ours");
        let inner = mutex.clone().expire(SHORT).lock().await.unwrap();
        soon("the inner one's end", inner.lost()).await;
        assert!(inner.is_lost());
        assert_eq!(inner.expires_in(), Duration::ZERO);
        let error = inner.check().unwrap_err();
        is!(error, LockError::Lost { .. });
        let error = inner.refresh(LONG).await.unwrap_err();
        is!(error, LockError::Lost { .. });
        assert!(inner.is_lost(), "once lost, always lost");
        assert!(was_lost(inner.unlock().await));
        outer.check().unwrap();
        by_block.check().unwrap();
        assert!(outer.expires_in() <= LONG);
        assert!(other.try_lock().await.unwrap().is_none());
        drop(by_block);
        assert!(outer.unlock().await.unwrap());
        drop(soon("free at last", other.lock()).await.unwrap());
    });
    soon("the task", task).await.unwrap();
}

pub(crate) async fn threads_are_told_too(store: &dyn TestStore) {
    let mutex = store.member().mutex("m").reentrant();
    let thread = store.thread(move || {
        let inside = |outer: &MutexGuard| {
            let inner = mutex.clone().expire(SHORT);
            let inner = inner.blocking_synchronize(|inner: &MutexGuard| {
                eventually("the inner one is lost", || inner.is_lost());
                // A nested call does not begin in a call that has lost its lock.
                let again = mutex.clone().expire(LONG).blocking_lock();
                is!(again, Err(LockError::Lost { .. }));
                outer.check().is_ok()
            });
            assert!(inner.unwrap());
            outer.check().unwrap();
            outer.expires_in()
        };
        let outer = mutex.clone().expire(LONG);
        let left = outer.blocking_synchronize(inside).unwrap();
        assert!(left > LONG / 2 && left <= LONG, "{left:?}");
    });
    thread.await.unwrap();
}

pub(crate) async fn a_refresh_inside_moves_them_all(store: &dyn TestStore) {
    let mutex = store.member().mutex("m").reentrant();
    let with = |expire| mutex.clone().expire(expire);
    let (long, half, quarter) = (with(LONG), with(LONG / 2), with(LONG / 4));
    let body = long.synchronize(async |outer: &MutexGuard| {
        let body = half.synchronize(async |middle: &MutexGuard| {
            let inner = quarter.lock().await.unwrap();
            for guard in [&inner, middle, outer] {
                assert!(guard.expires_in() <= LONG);
            }
            inner.refresh(LONG * 2).await.unwrap();
            for guard in [&inner, middle, outer] {
                assert!(guard.expires_in() > LONG, "{:?}", guard.expires_in());
            }
            // A refresh through the handle has the same effect.
            mutex.refresh(LONG * 4).await.unwrap();
            for guard in [middle, outer] {
                assert!(guard.expires_in() > LONG * 3, "{:?}", guard.expires_in());
            }
        });
        soon("the inner body", body).await.unwrap();
        // A refresh of the outer guard does not extend a nested call.
        let body = long.synchronize(async |inner: &MutexGuard| {
            outer.refresh(LONG * 8).await.unwrap();
            assert!(inner.expires_in() <= LONG, "{:?}", inner.expires_in());
        });
        soon("the inner body", body).await.unwrap();
        assert!(outer.expires_in() > LONG * 7, "{:?}", outer.expires_in());
    });
    soon("the outer body", body).await.unwrap();
}
