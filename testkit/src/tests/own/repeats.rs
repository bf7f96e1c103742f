use auto_mutex_core::{Client, Deadlock};

use super::*;
use crate::choices::Schedule;
use crate::runs::{Failure, attempt, shorten};

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

fn events_of<F: Future<Output = Vec<String>>>(seed: u64, of: fn(World) -> F) -> Vec<String> {
    let mut events = Vec::new();
    let schedule = Schedule { seed, only: None };
    let kept = std::sync::Mutex::new(&mut events);
    let test = |world: World| async {
        let seen = of(world).await;
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
        let events = events_of(seed, turmoil);
        assert!(events.len() > 50, "{}", events.len());
        let again = events_of(seed, turmoil);
        let differs = events
            .iter()
            .zip(&again)
            .position(|(one, other)| one != other);
        assert_eq!(differs.map(|at| (&events[at], &again[at])), None);
        assert_eq!(events.len(), again.len());
        assert_ne!(events, events_of(seed + 100, turmoil));
    }
}

/// Two hosts take two locks in opposite orders, and one call of each deadlock fails.
async fn deadlocks(world: World) -> Vec<String> {
    let hosts = ["a", "b"].map(|host| {
        let config = world.config(host).deadlock(Deadlock::Fail);
        Client::connect(config.deadlock_after("200ms")).unwrap()
    });
    let works = [("x", "y", &hosts[0]), ("y", "x", &hosts[1])].map(|(one, other, client)| {
        let (one, other) = (client.mutex(one), client.mutex(other));
        world.on(client, async move {
            let mut failed = Vec::new();
            for _ in 0..3 {
                let inner = async |_: &_| {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    other.synchronize(async |_| sleep(1).await).await
                };
                let ended = one.synchronize(inner).await.unwrap();
                failed.extend(ended.err().map(|error| error.to_string()));
            }
            failed
        })
    });
    let mut failed = Vec::new();
    for work in works {
        failed.extend(work.await);
    }
    assert!(!failed.is_empty());
    let events = world.events();
    events
        .iter()
        .map(|event| format!("{event:?}"))
        .chain(failed)
        .collect()
}

/// Set in a process that prints its events.
const CHILD: &str = "AUTO_MUTEX_TEST_CHILD";

/// Maps that iterate in an order of their own, addresses and process ids differ between processes only.
#[test]
fn every_process_repeats_the_same_deadlocks() {
    let text = || {
        let all = (0..10).flat_map(|seed| events_of(seed, deadlocks));
        all.map(|event| event + "\n").collect::<String>()
    };
    if let Ok(path) = std::env::var(CHILD) {
        return std::fs::write(path, text()).unwrap();
    }
    let here = text();
    for number in 0..2 {
        let path = std::env::temp_dir().join(format!("{CHILD}-{}-{number}", std::process::id()));
        let this = std::env::current_exe().unwrap();
        let name = "every_process_repeats_the_same_deadlocks";
        let child = std::process::Command::new(this)
            .arg(name)
            .env(CHILD, &path)
            .output();
        assert!(child.unwrap().status.success());
        let there = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let both = here.lines().zip(there.lines());
        let differs = both.enumerate().find(|(_, (here, there))| here != there);
        assert_eq!(differs, None);
        assert_eq!(here.len(), there.len());
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
