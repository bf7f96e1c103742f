//! Waiters that are killed, suspended or cut off.

use auto_mutex::test::World;

use super::{LEASE, member, members};
use crate::prelude::*;

#[auto_mutex::test(seeds = 20)]
async fn a_dead_waiter_costs_no_lease_and_a_live_one_keeps_its_place(world: World) {
    let [holder, live] = members(&world);
    let guard = holder.mutex("m").lock().await.unwrap();
    let mut dead = Vec::new();
    for number in 1..=3 {
        let client = member(&world, &format!("dead{number}"));
        let mutex = client.mutex("m");
        dead.push((
            world.on(&client, async move { mutex.lock().await.map(drop) }),
            client,
        ));
        waiters(&holder.mutex("m"), number).await;
    }
    let waiting = tokio::spawn(async move { live.mutex("m").lock().await.unwrap() });
    waiters(&holder.mutex("m"), 4).await;
    for (_, client) in &dead {
        world.kill(client);
    }
    drop(guard);
    let released = world.now();
    drop(soon("the live one gets in", waiting).await.unwrap());
    assert!(
        world.now() - released < LEASE,
        "{:?}",
        world.now() - released
    );
}

#[auto_mutex::test(seeds = 20)]
async fn a_suspended_waiter_costs_two_seconds_and_keeps_its_place(world: World) {
    let [holder, suspended, live] = members(&world);
    let guard = holder.mutex("m").lock().await.unwrap();
    let mutex = suspended.mutex("m");
    let first = world.on(&suspended, async move { mutex.lock().await.unwrap() });
    waiters(&holder.mutex("m"), 1).await;
    let second = tokio::spawn(async move { live.mutex("m").lock().await.unwrap() });
    waiters(&holder.mutex("m"), 2).await;
    world.suspend(&suspended).await;
    drop(guard);
    let released = world.now();
    let guard = second.await.unwrap();
    let took = world.now() - released;
    assert!(took < Duration::from_millis(2100), "{took:?}");
    world.resume(&suspended);
    // It is back in the queue at its own place.
    waiters(&holder.mutex("m"), 1).await;
    assert!(guard.unlock().await.unwrap());
    first.await.check().unwrap();
}

#[auto_mutex::test(seeds = 20)]
async fn a_release_during_a_reconnect_is_not_missed(world: World) {
    let [holder, waiter] = members(&world);
    world.delay(Duration::from_millis(5));
    for round in 0..5 {
        let guard = holder.mutex("m").lock().await.unwrap();
        let mutex = waiter.mutex("m");
        let waiting = tokio::spawn(async move { mutex.lock().await.unwrap() });
        waiters(&holder.mutex("m"), 1).await;
        world.disconnect(&waiter).await;
        // The release comes at various moments of the reconnect.
        let heals = async {
            world.advance(Duration::from_millis(4 * round)).await;
            world.reconnect(&waiter);
        };
        let releases = async {
            world.advance(Duration::from_millis(8)).await;
            assert!(guard.unlock().await.unwrap());
        };
        tokio::join!(heals, releases);
        let healed = world.now();
        let guard = soon("the waiter gets in", waiting).await.unwrap();
        // It did not just ask by itself, as it does each second.
        let took = world.now() - healed;
        assert!(took < Duration::from_millis(100), "{took:?}");
        assert!(guard.unlock().await.unwrap());
    }
}

#[auto_mutex::test(seeds = 20)]
async fn a_suspended_waiter_does_not_miss_its_notification(world: World) {
    for (away, forgotten) in [
        // Longer than the store keeps an unclaimed grant.
        (Duration::from_secs(3), false),
        (LEASE * 2, false),
        (LEASE / 2, true),
    ] {
        let [client, waiter] = members(&world);
        let (mutex, condition) = (waiter.mutex("m"), waiter.condvar("m"));
        let waiting = world.on(&waiter, async move {
            let guard = mutex.lock().await.unwrap();
            condition.wait(guard).await.map(drop).unwrap();
        });
        becomes!("it waits", {
            let health = waiter.health();
            (health.held, health.waiting) == (0, 1)
        });
        let guard = client.mutex("m").lock().await.unwrap();
        world.suspend(&waiter).await;
        drop(guard);
        if forgotten {
            world.restart_empty();
        }
        tokio::time::sleep(LEASE * 6).await;
        // The notification comes while the store doesn't know of the waiter, or the waiter can't hear it.
        let _ = client.condvar("m").notify_one().await.unwrap();
        tokio::time::sleep(away).await;
        world.resume(&waiter);
        soon("it is woken, or looks again", waiting).await;
        client.shutdown().await;
        waiter.shutdown().await;
    }
}

#[auto_mutex::test(seeds = 5)]
async fn several_names_are_waited_for_over_a_link_that_takes_a_second(world: World) {
    let client = member(&world, "a");
    // A call that does not wait gives up before the answer.
    world.delay(Duration::from_millis(600));
    let multi = client.multi(["a", "b"]);
    let error = multi.try_lock().await.unwrap_err();
    is!(error, LockError::Unavailable { .. });
    let guard = soon("granted", multi.lock()).await.unwrap();
    assert!(guard.unlock().await.unwrap());
}
