//! Points 4, 5 and 6: the length of a hold, the effect of a renewal, and the errors of a release.

use std::time::Duration;

use auto_mutex::test::World;
use auto_mutex::{Client, LockError, RwLockReadGuard, RwLockWriteGuard};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::real_time::real_time;

use crate::rig::Rig;

#[tokio::test]
async fn rw_lock_5_a_failed_renewal_is_told_and_takes_nothing_again() {
    let _watch = real_time();
    for writes in [false, true] {
        let rig = Rig::new();
        let client =
            Client::connect(rig.proxied_config().lease("1s").store_timeout("30s")).unwrap();
        let other = rig.client();
        let (reading, writing) = if writes {
            (None, Some(client.rw_lock("rw").write().await.unwrap()))
        } else {
            (Some(client.rw_lock("rw").read().await.unwrap()), None)
        };
        rig.proxy.freeze();
        let told = async {
            match (&reading, &writing) {
                (Some(guard), _) => guard.lost().await,
                (_, Some(guard)) => guard.lost().await,
                _ => unreachable!("one of them"),
            }
        };
        soon("the failure is told", told).await;
        let next = soon("the next one", other.rw_lock("rw").write())
            .await
            .unwrap();
        rig.proxy.thaw();
        // The store can be reached again, but the guard stays lost: a refresh fails, and does not hold alongside the
        // next holder.
        for _ in 0..2 {
            let again = match (&reading, &writing) {
                (Some(guard), _) => soon("an answer", guard.refresh(Duration::from_secs(60))).await,
                (_, Some(guard)) => soon("an answer", guard.refresh(Duration::from_secs(60))).await,
                _ => unreachable!("one of them"),
            };
            assert!(matches!(again, Err(LockError::Lost { .. })), "{again:?}");
        }
        soon("it speaks", client.rw_lock("rw").info())
            .await
            .unwrap();
        next.check().unwrap();
        assert_eq!(rig.redis.held(), 1);
        drop((reading, writing));
        soon("it speaks", client.rw_lock("rw").info())
            .await
            .unwrap();
        assert!(next.unlock().await.unwrap());
    }
}

#[auto_mutex::test]
async fn rw_lock_6_a_failing_release_hides_no_result(world: World) {
    let (client, other) = (world.client("a"), world.client("b"));
    let lock = client.rw_lock("rw");
    let read = lock.synchronize_read(async |_: &RwLockReadGuard| {
        world.disconnect(&client);
        Err::<(), _>("the body's own")
    });
    assert_eq!(read.await.unwrap(), Err("the body's own"));
    world.reconnect(&client);
    let write = lock.synchronize_write(async |_: &RwLockWriteGuard| {
        world.disconnect(&client);
        7
    });
    assert_eq!(write.await.unwrap(), 7);
    world.reconnect(&client);
    // Likewise if the body panics: the caller gets the body's own panic.
    let panicked = tokio::spawn({
        let (world, client) = (world.clone(), client.clone());
        async move {
            let body = async |_: &RwLockReadGuard| {
                world.disconnect(&client);
                panic!("the body's own")
            };
            client.rw_lock("rw").synchronize_read(body).await
        }
    });
    let panic = panicked.await.map(drop).unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref(), Some(&"the body's own"));
    world.reconnect(&client);
    let free = soon("the releases are made up for", other.rw_lock("rw").write()).await;
    assert!(free.unwrap().unlock().await.unwrap());
}
