//! Points 3, 4 and 9: holders whose lease has ended, and cleaning up after them.

use std::time::{Duration, Instant};

use auto_mutex::{Client, LockError, Permit, Semaphore};
use auto_mutex_tests::events::{becomes, soon};

use crate::rig::Rig;

/// Takes the only permit with a client whose link is then frozen. Returns the client, and the permit after its lease has ended.
/// If `released`, the permit is dropped instead, and its release is in flight.
async fn stale(rig: &Rig, released: bool) -> (Client, Option<Permit>) {
    let late = Client::connect(rig.proxied_config().lease("1s").store_timeout("30s")).unwrap();
    let permit = late.semaphore("s", 1).acquire().await.unwrap();
    rig.proxy.freeze();
    if released {
        drop(permit);
        return (late, None);
    }
    soon("its lease is over", permit.lost()).await;
    (late, Some(permit))
}

/// Lets the client reach the store again, and waits until all its delayed requests have arrived.
async fn back(rig: &Rig, late: &Client) {
    let before = rig.redis.calls("evalsha");
    rig.proxy.thaw();
    becomes("it speaks again", async || {
        rig.redis.calls("evalsha") > before
    })
    .await;
    soon("an answer", late.semaphore("s", 1).info())
        .await
        .unwrap();
}

/// Checks that exactly one permit can be acquired.
async fn one_is_left(semaphore: &Semaphore) {
    assert_eq!(semaphore.available().await.unwrap(), 1);
    let first = semaphore.try_acquire().await.unwrap();
    assert!(first.is_some());
    assert!(semaphore.try_acquire().await.unwrap().is_none(), "a second");
    assert_eq!(first.unwrap().release().await.unwrap(), 1);
}

#[tokio::test]
async fn semaphore_03_a_stale_release_makes_no_second_permit() {
    let rig = Rig::new();
    let other = rig.client();
    let semaphore = other.semaphore("s", 1);
    // Another client breaks a permit that seems stale, and then its holder releases or drops it.
    for dropped in [false, true] {
        let permit = rig.client().semaphore("s", 1).acquire().await.unwrap();
        assert!(semaphore.force_unlock().await.unwrap());
        if dropped {
            drop(permit);
        } else {
            let late = permit.release().await;
            assert!(matches!(late, Err(LockError::Lost { .. })), "{late:?}");
        }
        one_is_left(&semaphore).await;
    }
    // Likewise if the lease has ended in the store, before the release is sent or while it is in flight.
    for released in [false, true] {
        let (late, permit) = stale(&rig, released).await;
        one_is_left_soon(&semaphore).await;
        drop(permit);
        back(&rig, &late).await;
        one_is_left(&semaphore).await;
    }
}

async fn one_is_left_soon(semaphore: &Semaphore) {
    let permit = soon("the lease ends in the store", semaphore.acquire()).await;
    assert_eq!(permit.unwrap().release().await.unwrap(), 1);
    one_is_left(semaphore).await;
}

#[tokio::test]
async fn semaphore_04_a_stale_holder_frees_nobody_else() {
    let rig = Rig::new();
    let (other, third) = (rig.client(), rig.client());
    for released in [false, true] {
        let (late, old) = stale(&rig, released).await;
        let new = soon("the next one", other.semaphore("s", 1).acquire())
            .await
            .unwrap();
        back(&rig, &late).await;
        if let Some(old) = old {
            let end = soon("an answer", old.release()).await;
            assert!(matches!(end, Err(LockError::Lost { .. })), "{end:?}");
        }
        new.check().unwrap();
        new.refresh(Duration::from_secs(60)).await.unwrap();
        let third = third.semaphore("s", 1);
        assert!(third.try_acquire().await.unwrap().is_none());
        assert_eq!(third.available().await.unwrap(), 0);
        assert_eq!(new.release().await.unwrap(), 1);
    }
}

#[tokio::test]
async fn semaphore_09_cleaning_up_after_the_dead_leaves_the_living() {
    let rig = Rig::new();
    let lease = Duration::from_secs(5);
    let mut workers = [rig.worker(lease), rig.worker(lease), rig.worker(lease)];
    for worker in &mut workers {
        worker.say("acquire s 3");
        worker.got("s");
    }
    workers[1].kill9();
    // Many clients query and acquire at once, repeatedly, until well after the killed one's lease has ended.
    let cleaners: Vec<_> = (0..4)
        .map(|_| {
            let semaphore = rig.client().semaphore("s", 3);
            tokio::spawn(async move {
                let (mut most, started) = (0, Instant::now());
                while started.elapsed() < lease * 2 {
                    most = most.max(semaphore.available().await.unwrap());
                    match semaphore.try_acquire().await {
                        Ok(None) => {}
                        Ok(Some(permit)) => {
                            tokio::time::sleep(Duration::from_millis(5)).await;
                            permit.release().await.unwrap();
                        }
                        // On a busy machine, the server may once take longer than the second that a try waits.
                        Err(LockError::Unavailable { .. }) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                most
            })
        })
        .collect();
    let mut most = 0;
    for cleaner in cleaners {
        most = most.max(cleaner.await.unwrap());
    }
    assert_eq!(most, 1, "the permit of the dead one, and no other");
    for living in [0, 2] {
        workers[living].say("check s");
        workers[living].expect("held s");
        workers[living].say("unlock s");
        workers[living].expect("unlocked s true");
    }
    let semaphore = rig.client().semaphore("s", 3);
    becomes("all permits are back", async || {
        semaphore.available().await.unwrap() == 3
    })
    .await;
}
