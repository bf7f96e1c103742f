use super::*;
use crate::test_kit::choices::Schedule;
use crate::test_kit::runs::{Failure, attempt, shorten};

/// Four hosts, two locks, and faults.
async fn turmoil(world: World) -> Vec<String> {
    let hosts = ["a", "b", "c", "d"].map(|host| world.client(host));
    let works: Vec<_> = hosts
        .iter()
        .flat_map(|client| [("x", "y"), ("y", "x")].map(|names| (client.clone(), names)))
        .map(|(client, (one, other))| {
            let (one, other) = (
                client.mutex(one).block("20s"),
                client.mutex(other).block("3s"),
            );
            world.on(&client, async move {
                for _ in 0..5 {
                    let Ok(_one) = one.lock().await else { continue };
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    if let Ok(_other) = other.lock().await {
                        sleep(1).await;
                    }
                }
            })
        })
        .collect();
    sleep(3).await;
    world.disconnect(&hosts[0]);
    sleep(2).await;
    world.reconnect(&hosts[0]);
    world.suspend(&hosts[1]);
    sleep(15).await;
    world.resume(&hosts[1]);
    world.random_fault(&hosts[2]);
    for work in works {
        let _ = work.outcome().await;
    }
    world.assert_no_overlap();
    world
        .events()
        .iter()
        .map(|event| format!("{event:?}"))
        .collect()
}

fn events_of(seed: u64) -> Vec<String> {
    let mut events = Vec::new();
    let schedule = Schedule { seed, only: None };
    let kept = std::sync::Mutex::new(&mut events);
    let test = |world: World| async {
        let seen = turmoil(world).await;
        **kept.lock().unwrap() = seen;
    };
    attempt(&schedule, &test).unwrap_or_else(|failure| {
        std::panic::resume_unwind(failure.panic);
    });
    events
}

#[test]
fn a_seed_repeats_every_event_and_another_one_does_not() {
    for seed in 0..5 {
        let events = events_of(seed);
        assert!(events.len() > 50, "{}", events.len());
        let again = events_of(seed);
        let differs = events
            .iter()
            .zip(&again)
            .position(|(one, other)| one != other);
        assert_eq!(differs.map(|at| (&events[at], &again[at])), None);
        assert_eq!(events.len(), again.len());
        assert_ne!(events, events_of(seed + 100));
    }
}

/// Fails if b gets the lock before a, which asks first.
async fn first_come(world: World) {
    let (a, b) = (world.client("a"), world.client("b"));
    let hosts = [a, b].map(|client| {
        let mutex = client.mutex("x");
        world.on(&client, async move { drop(mutex.lock().await.unwrap()) })
    });
    for host in hosts {
        host.await;
    }
    world.assert_order(["a granted", "b granted"]);
}

#[test]
fn a_failure_has_a_short_schedule() {
    let failure = (0..50).find_map(|seed| {
        let schedule = Schedule { seed, only: None };
        attempt(&schedule, &first_come).err()
    });
    let Failure {
        schedule, unusual, ..
    } = failure.expect("an order in which b comes first");
    let shorter = shorten(schedule.seed, unusual.clone(), &first_come);
    let left = shorter.only.as_ref().unwrap().len();
    assert!(
        left < unusual.len() && (1..=3).contains(&left),
        "{shorter} of {unusual:?}"
    );
    assert!(attempt(&shorter.to_string().parse().unwrap(), &first_come).is_err());
}
