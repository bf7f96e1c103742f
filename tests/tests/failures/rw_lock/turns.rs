//! Point 8: the order of readers and writers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use auto_mutex_tests::events::{becomes, soon};

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn rw_lock_8_neither_side_starves() {
    let rig = Rig::new();
    for writers in [false, true] {
        let name = if writers { "writers" } else { "readers" };
        let over = Arc::new(AtomicBool::new(false));
        // Many clients of one side, so that at almost every moment at least one of them holds the lock.
        let crowd: Vec<_> = (0..6)
            .map(|_| {
                let (lock, over) = (rig.client().rw_lock(name), over.clone());
                tokio::spawn(async move {
                    let mut before = None;
                    while !over.load(Ordering::SeqCst) {
                        if writers {
                            let guard = lock.write().await.unwrap();
                            tokio::time::sleep(Duration::from_millis(2)).await;
                            drop(guard);
                        } else {
                            // The next read begins before the last one ends, unless it would have to wait.
                            let next = lock.try_read().await.unwrap();
                            let guard = match next {
                                Some(guard) => guard,
                                None => {
                                    drop(before.take());
                                    lock.read().await.unwrap()
                                }
                            };
                            before = Some(guard);
                            tokio::time::sleep(Duration::from_millis(5)).await;
                        }
                    }
                })
            })
            .collect();
        becomes("the crowd is inside", async || rig.redis.held() > 0).await;
        let client = rig.client();
        for _ in 0..5 {
            if writers {
                let guard = soon("a reader's turn", client.rw_lock(name).read()).await;
                assert!(guard.unwrap().unlock().await.unwrap());
            } else {
                let guard = soon("a writer's turn", client.rw_lock(name).write()).await;
                assert!(guard.unwrap().unlock().await.unwrap());
            }
        }
        over.store(true, Ordering::SeqCst);
        for task in crowd {
            soon("the crowd leaves", task).await.unwrap();
        }
    }
}

#[tokio::test]
async fn rw_lock_8_a_reader_does_not_overtake_a_waiting_writer() {
    let rig = Rig::new();
    let (first, writer) = (rig.client(), rig.client());
    let reading = first.rw_lock("rw").read().await.unwrap();
    let writing = tokio::spawn(async move { writer.rw_lock("rw").write().await });
    waiters(&first.mutex("rw"), 1).await;
    let mut readers = Vec::new();
    for number in 2..5 {
        let client = rig.client();
        assert!(client.rw_lock("rw").try_read().await.unwrap().is_none());
        readers.push(tokio::spawn(
            async move { client.rw_lock("rw").read().await },
        ));
        waiters(&first.mutex("rw"), number).await;
    }
    assert!(reading.unlock().await.unwrap());
    let writing = soon("the writer first", writing).await.unwrap().unwrap();
    assert_eq!(rig.redis.held(), 1);
    assert!(writing.unlock().await.unwrap());
    // All consecutive readers are granted together: no reader releases before the last one is granted.
    let mut inside = Vec::new();
    for reader in readers {
        inside.push(soon("all readers", reader).await.unwrap().unwrap());
    }
    assert_eq!(rig.redis.held(), 3);
}
