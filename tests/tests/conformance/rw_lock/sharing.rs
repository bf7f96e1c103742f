//! Whether readers and writers can hold the lock at the same time.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::stores::TestStore;
use auto_mutex_tests::was_lost;

pub(crate) async fn readers_hold_together_and_writers_alone(store: &dyn TestStore) {
    let (a, b, c) = (store.member(), store.member(), store.member());
    let one = a.rw_lock("l").read().await.unwrap();
    let other = soon("beside it", b.rw_lock("l").read()).await.unwrap();
    assert!(other.fencing_token() > one.fencing_token());
    assert!(c.rw_lock("l").try_write().await.unwrap().is_none());
    assert!(one.unlock().await.unwrap());
    assert!(c.rw_lock("l").try_write().await.unwrap().is_none());
    assert!(other.unlock().await.unwrap());
    let writer = c.rw_lock("l").try_write().await.unwrap().expect("free");
    for member in [&a, &b, &c] {
        assert!(member.rw_lock("l").try_read().await.unwrap().is_none());
        assert!(member.rw_lock("l").try_write().await.unwrap().is_none());
    }
    assert_eq!(writer.name(), "l");
    assert!(writer.unlock().await.unwrap());
    drop(soon("free", a.rw_lock("l").read()).await.unwrap());
}

pub(crate) async fn readers_of_one_member_hold_together(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let lock = client.rw_lock("l");
    let reads = lock.clone();
    let blocks = store.thread(move || reads.blocking_read().unwrap());
    let readers = [
        soon("one", lock.read()).await.unwrap(),
        soon("another", lock.read()).await.unwrap(),
        blocks.await.unwrap(),
    ];
    assert_eq!(lock.info().await.unwrap().holders.len(), 3);
    assert!(other.rw_lock("l").try_write().await.unwrap().is_none());
    drop(readers);
    drop(soon("free", other.rw_lock("l").write()).await.unwrap());
}

pub(crate) async fn the_blocking_twins_do_the_same(store: &dyn TestStore) {
    let (a, b) = (store.member(), store.member());
    store
        .thread(move || {
            let (a, b) = (a.rw_lock("l"), b.rw_lock("l"));
            let reader = a.blocking_read().unwrap();
            let other = b.blocking_try_read().unwrap().expect("beside it");
            assert!(b.blocking_try_write().unwrap().is_none());
            assert!(reader.blocking_unlock().unwrap());
            assert!(other.blocking_unlock().unwrap());
            let writer = a.blocking_write().unwrap();
            assert!(b.blocking_is_locked().unwrap());
            let reader = writer.blocking_downgrade().unwrap();
            assert!(b.blocking_try_read().unwrap().is_some());
            drop(reader);
            let two = b.blocking_synchronize_read(|guard| guard.fencing_token());
            assert!(two.unwrap() > 0);
            let three = b.blocking_synchronize_write(|guard| guard.check());
            three.unwrap().unwrap();
        })
        .await
        .unwrap();
}

pub(crate) async fn readers_count_one_by_one(store: &dyn TestStore) {
    let (client, writer) = (store.member(), store.member());
    for _ in 0..3 {
        let mut readers = Vec::new();
        for _ in 0..5 {
            readers.push(client.rw_lock("l").read().await.unwrap());
        }
        while let Some(reader) = readers.pop() {
            assert!(writer.rw_lock("l").try_write().await.unwrap().is_none());
            assert!(reader.unlock().await.unwrap());
        }
        let guard = writer.rw_lock("l").try_write().await.unwrap();
        assert!(guard.expect("nobody reads").unlock().await.unwrap());
    }
}

pub(crate) async fn one_readers_end_is_not_the_others(store: &dyn TestStore) {
    let (a, b, writer) = (store.member(), store.member(), store.member());
    let short = a.rw_lock("l").expire(Duration::from_millis(300));
    let short = short.read().await.unwrap();
    let long = b.rw_lock("l").read().await.unwrap();
    soon("one is over", short.lost()).await;
    becomes("the store has one reader", async || {
        writer.rw_lock("l").info().await.unwrap().holders.len() == 1
    })
    .await;
    long.check().unwrap();
    assert!(writer.rw_lock("l").try_write().await.unwrap().is_none());
    drop(short);
    assert!(writer.rw_lock("l").try_write().await.unwrap().is_none());
    assert!(long.unlock().await.unwrap());
    drop(
        soon("the writer", writer.rw_lock("l").write())
            .await
            .unwrap(),
    );
}

pub(crate) async fn a_late_unlock_of_a_reader_frees_no_writer(store: &dyn TestStore) {
    let (reader, writer) = (store.member(), store.member());
    let late = reader.rw_lock("l").expire(Duration::from_millis(300));
    let late = late.read().await.unwrap();
    let guard = soon("the writer", writer.rw_lock("l").write())
        .await
        .unwrap();
    assert!(late.is_lost(), "the reader knew before the writer got in");
    assert!(was_lost(late.unlock().await));
    guard.check().unwrap();
    assert!(reader.rw_lock("l").try_read().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
}

pub(crate) async fn who_breaks_it_frees_all_readers(store: &dyn TestStore) {
    let (a, b, breaker) = (store.member(), store.member(), store.member());
    let one = a.rw_lock("l").read().await.unwrap();
    let two = b.rw_lock("l").read().await.unwrap();
    assert!(breaker.rw_lock("l").force_unlock().await.unwrap());
    soon("both are told", async {
        one.lost().await;
        two.lost().await;
    })
    .await;
    let writer = soon("free", breaker.rw_lock("l").write()).await.unwrap();
    assert!(was_lost(one.unlock().await));
    drop(two);
    writer.check().unwrap();
    assert!(writer.unlock().await.unwrap());
}

pub(crate) async fn it_is_released_when_a_body_panics(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    for write in [false, true] {
        let lock = client.rw_lock("l");
        let body = tokio::spawn(async move {
            let result: Result<(), LockError> = if write {
                lock.synchronize_write(async |_| panic!("as told")).await
            } else {
                lock.synchronize_read(async |_| panic!("as told")).await
            };
            result
        });
        assert!(soon("the panic", body).await.unwrap_err().is_panic());
        let guard = soon("free", other.rw_lock("l").write()).await.unwrap();
        assert!(guard.unlock().await.unwrap());
    }
    waiters(&other.rw_lock("l"), 0).await;
}
