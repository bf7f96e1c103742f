//! Points 2, 10 and 11: no waiter is forgotten.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex::test::World;
use auto_mutex_tests::events::{eventually, soon, with};

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn em_mutex_10_the_watcher_never_gives_up() {
    let rig = Rig::new();
    let (holder, waiter) = (rig.client(), rig.proxied());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn({
        let waiter = waiter.clone();
        async move { waiter.mutex("m").lock().await }
    });
    waiters(&holder.mutex("m"), 1).await;
    rig.proxy.refuse();
    rig.proxy.cut();
    let before = rig.proxy.connections();
    let rig = tokio::task::spawn_blocking(move || {
        eventually("more than ten attempts", || {
            rig.proxy.connections() > before + 12
        });
        rig
    })
    .await
    .unwrap();
    rig.proxy.heal();
    guard.unlock().await.unwrap();
    // The waiter is granted, or gets an error about the outage; afterwards the client works without any help.
    match soon("the wait ends", waiting).await.unwrap() {
        Ok(guard) => assert!(guard.unlock().await.unwrap()),
        Err(error) => assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}"),
    }
    drop(
        soon("the client works again", waiter.mutex("m").lock())
            .await
            .unwrap(),
    );
}

#[auto_mutex::test]
async fn em_mutex_02_a_waiter_is_woken_and_does_not_find_out_by_asking(world: World) {
    let (holder, waiter) = (world.client("a"), world.client("b"));
    world.delay(Duration::from_millis(1));
    for _ in 0..5 {
        let guard = holder.mutex("m").lock().await.unwrap();
        let waiting = with(
            &waiter,
            |waiter| async move { waiter.mutex("m").lock().await },
        );
        waiters(&holder.mutex("m"), 1).await;
        let released = world.now();
        drop(guard);
        let guard = soon("woken", waiting).await.unwrap().unwrap();
        // It also asks the store by itself, every 1100 ms.
        assert!(world.now() - released < Duration::from_millis(10));
        assert!(guard.unlock().await.unwrap());
    }
}
