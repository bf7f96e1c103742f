//! Deadlocks of hosts that die, are suspended, are slow, or lose their store. Tokio's barrier wakes them in a random
//! order.

use std::sync::Arc;

use auto_mutex::test::{Running, World};
use tokio::sync::Barrier;

use super::LEASE;
use crate::prelude::*;

type Crosses = Running<Result<Result<(), LockError>, LockError>>;

/// Makes each host hold a lock and wait for the lock of the next one, after all of them have passed the barrier.
fn cycle<const N: usize>(
    world: &World,
    after: Duration,
    all: &Arc<Barrier>,
) -> [(Client, Crosses); N] {
    std::array::from_fn(|number| {
        let config = world.config(&format!("host{number}")).lease(LEASE);
        let config = config.deadlock(Deadlock::Fail).deadlock_after(after);
        let client = Client::connect(config.store_timeout("60s")).unwrap();
        let outer = client.mutex(format!("n{number}"));
        let (inner, all) = (client.mutex(format!("n{}", (number + 1) % N)), all.clone());
        let body = async move {
            let inside = async |_: &_| {
                all.wait().await;
                inner.lock().await.map(drop)
            };
            outer.synchronize(inside).await
        };
        let running = world.on(&client, body);
        (client, running)
    })
}

/// The killed host's lock is free when its lease ends, long before the first search for a deadlock, so no call fails.
#[auto_mutex::test(seeds = 10, repeatable = false)]
async fn a_dead_process_breaks_the_cycle(world: World) {
    let all = Arc::new(Barrier::new(4));
    let [(first, _crosses), second, third] = cycle(&world, 3 * LEASE, &all);
    all.wait().await;
    world.idle().await;
    world.kill(&first);
    third.1.await.unwrap().unwrap();
    second.1.await.unwrap().unwrap();
}

/// Its lock was lost, and it isn't waiting for any other.
#[auto_mutex::test(seeds = 10, repeatable = false)]
async fn a_silent_process_is_not_taken_for_a_part(world: World) {
    let all = Arc::new(Barrier::new(3));
    let [first, (silent, second)] = cycle(&world, LEASE / 10, &all);
    world.idle().await;
    world.suspend(&silent);
    all.wait().await;
    first.1.await.unwrap().unwrap();
    world.resume(&silent);
    let ended = second.await;
    is!(ended, Err(LockError::Lost { .. }) | Ok(Ok(())));
}

/// A search first waits 400 ms for an answer. Here, each takes 2 s, and a search needs four, one after the other.
#[auto_mutex::test(seeds = 5, repeatable = false)]
async fn slow_messages_hide_no_deadlock(world: World) {
    let all = Arc::new(Barrier::new(6));
    let hosts: [_; 5] = cycle(&world, LEASE / 4, &all);
    all.wait().await;
    world.delay(Duration::from_millis(500));
    let mut failed = Vec::new();
    for (_client, running) in hosts {
        failed.extend(running.await.unwrap().err());
    }
    let [LockError::Deadlock { cycle, .. }] = &failed[..] else {
        panic!("{failed:?}");
    };
    assert_eq!(cycle.len(), 5);
}

#[auto_mutex::test(seeds = 10, repeatable = false)]
async fn a_deadlock_outlives_a_failover(world: World) {
    let all = Arc::new(Barrier::new(3));
    let [first, second] = cycle(&world, LEASE, &all);
    all.wait().await;
    world.advance(LEASE / 4).await;
    world.failover_losing(Duration::ZERO);
    let ends = [first.1.await, second.1.await];
    let got = ends.iter().filter(|end| matches!(end, Ok(Ok(())))).count();
    assert!(got >= 1, "{ends:?}");
    for end in ends {
        let expected = matches!(
            end,
            Ok(Ok(()) | Err(LockError::Deadlock { .. } | LockError::Lost { .. }))
                | Err(LockError::Lost { .. })
        );
        assert!(expected, "{end:?}");
    }
}
