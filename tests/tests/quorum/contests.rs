//! Five processes compete for one name, while all servers work.

use std::time::{Duration, Instant};

use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::runtimes::current_thread;
use auto_mutex_tests::stores::quorum_url;

use crate::ground::{Contest, Ground};

const CALM: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(2));

#[test]
fn five_processes_collide_and_all_get_on() {
    let mut ground = Ground::open("collide");
    let verdict = Contest::begin(&mut ground, "mutex", 1, CALM).end();
    assert_eq!(verdict.crowded, 0);
    // No waiter had to wait for the end of a lease.
    let (lease, _) = CALM;
    assert!(verdict.longest_gap < lease / 2, "{:?}", verdict.longest_gap);
}

#[test]
fn a_semaphore_never_gives_more_than_it_has() {
    let mut ground = Ground::open("permits");
    // On a slow machine, two processes of a contest may never hold at the same time, so this is checked first.
    let (one, other) = (ground.member(CALM.0), ground.member(CALM.0));
    let together = [&one, &other].map(|member| member.semaphore("both", 2).blocking_acquire());
    assert!(together.iter().all(Result::is_ok), "{together:?}");
    let verdict = Contest::begin(&mut ground, "semaphore:2", 1, CALM).end();
    assert_eq!(verdict.crowded, 0);
    assert!(verdict.usage["m"].most_units <= 2);
}

/// Nine grants would give each of three members a majority, and five servers with two permits each have ten. Yet at
/// most two members may get a permit.
#[test]
fn servers_that_see_different_holders_give_no_third_permit() {
    let ground = Ground::open("third");
    let reaching = |away: [usize; 2]| {
        let proxies: Vec<_> = ground
            .servers
            .iter()
            .map(|server| Proxy::start(server.port()))
            .collect();
        let member = ground.member_at(quorum_url(proxies.iter().map(Proxy::port)), CALM.0);
        for server in away {
            proxies[server].refuse();
            proxies[server].cut();
        }
        (proxies, member)
    };
    let (first, second, third) = (reaching([3, 4]), reaching([0, 1]), ground.member(CALM.0));
    let permits: Vec<_> = [first.1, second.1, third]
        .iter()
        .map(|member| {
            member
                .semaphore("s", 2)
                .block(Duration::from_millis(500))
                .blocking_acquire()
        })
        .filter_map(Result::ok)
        .collect();
    assert!(permits.len() <= 2);
    assert!(!permits.is_empty());
}

#[test]
fn readers_and_writers_never_meet() {
    let mut ground = Ground::open("readers");
    let (one, other) = (ground.member(CALM.0), ground.member(CALM.0));
    let together = [&one, &other].map(|member| member.rw_lock("both").blocking_read());
    assert!(together.iter().all(Result::is_ok), "{together:?}");
    let verdict = Contest::begin(&mut ground, "rw", 2, CALM).end();
    assert_eq!(verdict.crowded, 0);
}

#[test]
fn a_release_wakes_who_waits() {
    const TURNS: usize = 20;
    let ground = Ground::open("wakes");
    let (one, other) = (ground.member(CALM.0), ground.member(CALM.0));
    current_thread().block_on(async {
        let mut waited = Vec::new();
        for _ in 0..TURNS {
            let guard = one.mutex("m").lock().await.unwrap();
            let client = other.clone();
            let waiting = tokio::spawn(async move { client.mutex("m").lock().await.unwrap() });
            becomes("it waits", async || {
                one.mutex("m").info().await.unwrap().waiters.len() == 1
            })
            .await;
            let released = Instant::now();
            drop(guard);
            drop(soon("it is woken", waiting).await.unwrap());
            waited.push(released.elapsed());
        }
        // Without wake-ups a waiter asks about once a second, so only one wait in four would end within 250 ms. The test checks
        // the median, because a machine may stall.
        waited.sort();
        let median = waited[TURNS / 2];
        assert!(median < Duration::from_millis(250), "{waited:?}");
        println!("woken within {median:?}");
    });
}
