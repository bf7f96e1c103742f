//! Whether readers and writers can hold the lock at the same time.

use crate::prelude::*;

const SHORT: Duration = Duration::from_millis(300);

pub(crate) async fn readers_hold_together_and_writers_alone(store: &dyn TestStore) {
    let members = store.members::<3>();
    let [a, b, c] = members.each_ref().map(|member| member.rw_lock("l"));
    let one = a.read().await.unwrap();
    let other = soon("beside it", b.read()).await.unwrap();
    assert!(other.fencing_token() > one.fencing_token());
    assert!(c.try_write().await.unwrap().is_none());
    assert!(one.unlock().await.unwrap());
    assert!(c.try_write().await.unwrap().is_none());
    assert!(other.unlock().await.unwrap());
    let writer = c.try_write().await.unwrap().expect("free");
    for lock in [&a, &b, &c] {
        assert!(lock.try_read().await.unwrap().is_none());
        assert!(lock.try_write().await.unwrap().is_none());
    }
    assert_eq!(writer.name(), "l");
    assert!(writer.unlock().await.unwrap());
    drop(soon("free", a.read()).await.unwrap());
}

pub(crate) async fn the_blocking_twins_do_the_same(store: &dyn TestStore) {
    let [a, b] = store.members();
    let thread = store.thread(move || {
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
    });
    thread.await.unwrap();
}

pub(crate) async fn readers_count_one_by_one(store: &dyn TestStore) {
    let [client, writer] = store.members();
    let (lock, writer) = (client.rw_lock("l"), writer.rw_lock("l"));
    for _ in 0..3 {
        let reads = lock.clone();
        let blocks = store.thread(move || reads.blocking_read().unwrap());
        let mut readers = vec![blocks.await.unwrap()];
        for _ in 0..4 {
            readers.push(soon("another", lock.read()).await.unwrap());
        }
        assert_eq!(lock.info().await.unwrap().holders.len(), 5);
        while let Some(reader) = readers.pop() {
            assert!(writer.try_write().await.unwrap().is_none());
            assert!(reader.unlock().await.unwrap());
        }
        let guard = writer.try_write().await.unwrap();
        assert!(guard.expect("nobody reads").unlock().await.unwrap());
    }
}

pub(crate) async fn one_readers_end_is_not_the_others(store: &dyn TestStore) {
    let [a, b, writer] = store.members();
    let (a, b, writer) = (a.rw_lock("l"), b.rw_lock("l"), writer.rw_lock("l"));
    let short = a.clone().expire(SHORT).read().await.unwrap();
    let long = b.read().await.unwrap();
    soon("one is over", short.lost()).await;
    becomes!(
        "the store has one reader",
        writer.info().await.unwrap().holders.len() == 1
    );
    long.check().unwrap();
    assert!(writer.try_write().await.unwrap().is_none());
    drop(short);
    assert!(writer.try_write().await.unwrap().is_none());
    assert!(long.unlock().await.unwrap());
    // A late unlock of a reader frees no writer.
    let late = soon("free", a.clone().expire(SHORT).read()).await.unwrap();
    let guard = soon("the writer", writer.write()).await.unwrap();
    assert!(late.is_lost(), "the reader knew before the writer got in");
    assert!(was_lost(late.unlock().await));
    guard.check().unwrap();
    assert!(a.try_read().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
}

pub(crate) async fn who_breaks_it_frees_all_readers(store: &dyn TestStore) {
    let [a, b, breaker] = store.members();
    let one = a.rw_lock("l").read().await.unwrap();
    let two = b.rw_lock("l").read().await.unwrap();
    assert!(breaker.rw_lock("l").force_unlock().await.unwrap());
    soon("it is told", one.lost()).await;
    soon("the other too", two.lost()).await;
    let writer = soon("free", breaker.rw_lock("l").write()).await.unwrap();
    assert!(was_lost(one.unlock().await));
    drop(two);
    writer.check().unwrap();
    assert!(writer.unlock().await.unwrap());
}
