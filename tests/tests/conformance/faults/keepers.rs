//! Clients that keep a lock between calls, and die, sleep or are cut off.

use auto_mutex::test::World;

use super::{LATE, member};
use crate::prelude::*;

/// Others wait for this lease if the keeper has not cut its own.
const LEASE: Duration = Duration::from_secs(10);
/// Less than the lease: a keeper that fails costs two seconds.
const SOON: Duration = Duration::from_millis(2500);

/// A client that keeps `m`, and its last token.
async fn keeper(world: &World, host: &str, observer: &Client) -> (Client, Mutex, u64) {
    let client = Client::connect(world.config(host).lease(LEASE)).unwrap();
    let mutex = client.mutex("m").retain("600s");
    let token = mutex.lock().await.unwrap().fencing_token();
    becomes!("it is kept", observer.mutex("m").info().await.unwrap().kept);
    (client, mutex, token)
}

#[auto_mutex::test(seeds = 10)]
async fn a_killed_keeper_costs_two_seconds(world: World) {
    let observer = member(&world, "observer");
    for tries in [false, true] {
        let (client, _, token) = keeper(&world, "keeper", &observer).await;
        world.kill(&client);
        let began = world.now();
        let mutex = observer.mutex("m");
        let guard = match tries {
            // It asks until the short lease ends.
            true => mutex.try_lock().await.unwrap().unwrap(),
            false => mutex.lock().await.unwrap(),
        };
        assert!(world.now() - began < SOON, "{:?}", world.now() - began);
        assert!(guard.fencing_token() > token);
        assert!(guard.unlock().await.unwrap());
    }
}

#[auto_mutex::test(seeds = 5)]
async fn a_keeper_that_is_away_does_not_enter(world: World) {
    let other = member(&world, "other");
    for suspended in [false, true] {
        let (client, mutex, token) = keeper(&world, "keeper", &other).await;
        match suspended {
            true => world.suspend(&client),
            false => world.disconnect(&client),
        };
        let began = world.now();
        let attempt = mutex.clone().block(Duration::ZERO);
        // It calls all the time.
        let calls = world.on(&client, async move {
            let mut entered = Vec::new();
            for _ in 0..150 {
                let call = tokio::time::timeout(Duration::from_millis(50), attempt.lock());
                if let Ok(Ok(guard)) = call.await {
                    entered.push(guard.fencing_token());
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            entered
        });
        let guard = soon("its lock", other.mutex("m").lock()).await.unwrap();
        assert!(world.now() - began < SOON, "{:?}", world.now() - began);
        assert!(guard.fencing_token() > token);
        world.advance(LEASE).await;
        match suspended {
            true => world.resume(&client),
            false => world.reconnect(&client),
        };
        world.advance(LATE).await;
        for entered in calls.await {
            assert!(entered < guard.fencing_token());
        }
        let again = tokio::spawn(async move { mutex.lock().await.unwrap().fencing_token() });
        waiters(&other.mutex("m"), 1).await;
        let token = guard.fencing_token();
        assert!(guard.unlock().await.unwrap());
        assert!(soon("it is back", again).await.unwrap() > token);
        world.assert_no_overlap();
        client.shutdown().await;
    }
}
