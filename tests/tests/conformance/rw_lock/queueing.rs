//! One queue for readers and writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::prelude::*;

pub(crate) async fn a_writer_is_not_starved_by_readers(store: &dyn TestStore) {
    let members = store.members::<3>();
    let [a, b, writer] = members.each_ref().map(|member| member.rw_lock("l"));
    let heard = Heard::from_now();
    let first = a.read().await.unwrap();
    let waiting = with(
        &writer,
        |writer| async move { writer.write().await.unwrap() },
    );
    waiters(&a, 1).await;
    // The lock has room for more readers, but the writer came first, so all members are refused, even the one that is
    // reading.
    for lock in [&a, &b, &writer] {
        let tried = lock.try_read().await.unwrap();
        heard.assert_eq(&tried.is_some(), &false);
    }
    let behind = with(&b, |b| async move { b.read().await.unwrap() });
    waiters(&a, 2).await;
    first.unlock().await.unwrap();
    let guard = soon("the writer", waiting).await.unwrap();
    heard.assert_eq(&behind.is_finished(), &false);
    guard.unlock().await.unwrap();
    drop(soon("the reader", behind).await.unwrap());
}

pub(crate) async fn a_reader_is_not_starved_by_writers(store: &dyn TestStore) {
    let members = store.members::<3>();
    let [a, b, reader] = members.each_ref().map(|member| member.rw_lock("l"));
    let heard = Heard::from_now();
    let first = a.write().await.unwrap();
    let waiting = with(
        &reader,
        |reader| async move { reader.read().await.unwrap() },
    );
    waiters(&a, 1).await;
    let behind = with(&b, |b| async move { b.write().await.unwrap() });
    waiters(&a, 2).await;
    first.unlock().await.unwrap();
    let guard = soon("the reader", waiting).await.unwrap();
    heard.assert_eq(&behind.is_finished(), &false);
    assert!(a.try_write().await.unwrap().is_none());
    guard.unlock().await.unwrap();
    drop(soon("the second writer", behind).await.unwrap());
}

pub(crate) async fn readers_that_wait_together_get_in_together(store: &dyn TestStore) {
    let ([holder, last], members) = (store.members(), store.members::<3>());
    let writer = holder.rw_lock("l").write().await.unwrap();
    let mut readers = Vec::new();
    // Two tasks of each member.
    for number in 0..6 {
        readers.push(with(&members[number / 2], |client| async move {
            client.rw_lock("l").read().await.unwrap()
        }));
        waiters(&holder.rw_lock("l"), number + 1).await;
    }
    let last = tokio::spawn(async move { last.rw_lock("l").write().await.unwrap() });
    waiters(&holder.rw_lock("l"), 7).await;
    writer.unlock().await.unwrap();
    // No reader releases before the next one has the lock.
    let guards = ended("together", readers).await;
    assert!(!last.is_finished());
    drop(guards);
    drop(soon("the writer behind them", last).await.unwrap());
}

pub(crate) async fn a_cancelled_writer_lets_the_readers_in(store: &dyn TestStore) {
    let [a, b, writer] = store.members();
    let first = a.rw_lock("l").read().await.unwrap();
    let cancelled = tokio::spawn(async move { writer.rw_lock("l").write().await.map(drop) });
    waiters(&a.rw_lock("l"), 1).await;
    let behind = tokio::spawn(async move { b.rw_lock("l").read().await.unwrap() });
    waiters(&a.rw_lock("l"), 2).await;
    cancelled.abort();
    let second = soon("the reader", behind).await.unwrap();
    first.check().unwrap();
    drop((first, second));
    let lock = a.rw_lock("l").block(Duration::from_millis(50));
    let reader = a.rw_lock("l").read().await.unwrap();
    // A writer that times out leaves nothing behind either.
    assert!(soon("no", lock.write()).await.unwrap_err().is_timeout());
    drop(soon("yes", a.rw_lock("l").read()).await.unwrap());
    drop(reader);
}

pub(crate) async fn readers_and_writers_never_meet(store: &dyn TestStore) {
    const WRITER: u32 = 1000;
    let inside = Arc::new(AtomicU32::new(0));
    let tasks = (0..12).map(|number| {
        let (lock, inside) = (store.member().rw_lock("l"), inside.clone());
        tokio::spawn(async move {
            for round in 0..10 {
                if (number + round) % 4 == 0 {
                    let guard = lock.write().await.unwrap();
                    assert_eq!(inside.fetch_add(WRITER, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(WRITER, Ordering::SeqCst);
                    drop(guard);
                } else {
                    let guard = lock.read().await.unwrap();
                    let before = inside.fetch_add(1, Ordering::SeqCst);
                    assert!(before < WRITER, "beside a writer");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                }
            }
        })
    });
    ended("everybody gets in", tasks.collect::<Vec<_>>()).await;
}
