//! Three of five servers fail: nothing is granted, every call fails in time, and the quorum recovers by itself.

use std::time::{Duration, Instant};

use auto_mutex::LockError;
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::runtimes::current_thread;

use crate::ground::Ground;

const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(4);

#[test]
fn without_a_majority_nothing_is_granted_until_it_is_back() {
    let mut ground = Ground::open("majority");
    let client = auto_mutex::Client::connect(ground.config(LEASE).store_timeout(PATIENCE)).unwrap();
    current_thread().block_on(async {
        let held = client.mutex("held").lock().await.unwrap();
        for suspends in [true, false] {
            let chosen = ground.some(3);
            for &server in &chosen {
                match suspends {
                    true => ground.servers[server].stop(),
                    false => {
                        ground.proxies[server].refuse();
                        ground.proxies[server].cut();
                    }
                }
            }
            let asked = Instant::now();
            let error = client.mutex("m").lock().await.unwrap_err();
            assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
            let text = chain(&error);
            let unreached = text.contains("2 of 5 servers can be reached");
            // After slow answers, the client waits longer before it takes a suspended server for unreachable.
            let unanswered = text.contains("fewer than 3 of 5 servers have answered");
            assert!(unreached || suspends && unanswered, "{text}");
            assert!(asked.elapsed() < 3 * PATIENCE);
            let error = client.mutex("m").try_lock().await.unwrap_err();
            assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
            let error = client.mutex("m").info().await.unwrap_err();
            assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
            assert!(held.is_lost(), "a lease without a majority ends");
            for &server in &chosen {
                ground.servers[server].cont();
                ground.proxies[server].heal();
            }
            let guard = soon("it is back", async {
                loop {
                    if let Ok(guard) = client.mutex("m").lock().await {
                        return guard;
                    }
                }
            });
            let guard = guard.await;
            assert!(guard.unlock().await.unwrap());
        }
        becomes("what was held is free", async || {
            client
                .mutex("held")
                .try_lock()
                .await
                .is_ok_and(|held| held.is_some())
        })
        .await;
    });
}

#[test]
fn who_waits_through_an_outage_gets_the_lock_after_it() {
    let mut ground = Ground::open("waits");
    let patient = auto_mutex::Client::connect(ground.config(LEASE).store_timeout("60s")).unwrap();
    let other = ground.member(LEASE);
    current_thread().block_on(async {
        let held = other.mutex("m").lock().await.unwrap();
        let waiting = tokio::spawn(async move { patient.mutex("m").lock().await });
        becomes("it waits", async || {
            other.mutex("m").info().await.unwrap().waiters.len() == 1
        })
        .await;
        let chosen = ground.some(3);
        for &server in &chosen {
            ground.servers[server].stop();
        }
        held.lost().await;
        assert!(!waiting.is_finished());
        for &server in &chosen {
            ground.servers[server].cont();
        }
        let guard = soon("it is granted", waiting).await.unwrap().unwrap();
        assert!(guard.fencing_token() > held.fencing_token());
        assert!(guard.unlock().await.unwrap());
    });
}

#[test]
fn a_set_up_needs_a_majority() {
    let mut ground = Ground::open("set-up");
    let chosen = ground.some(3);
    for &server in &chosen[..2] {
        ground.servers[server].kill9();
    }
    let client = ground.member(LEASE);
    let mutex = client.mutex("m");
    drop(mutex.blocking_lock().unwrap());
    ground.servers[chosen[2]].kill9();
    let config = ground.config(LEASE).connect_timeout("1s");
    let error = auto_mutex::Client::connect(config).unwrap_err();
    assert!(
        matches!(error, auto_mutex::SetupError::Unreachable { .. }),
        "{error:?}"
    );
    // The existing client continues with the servers that come back, although it has never been connected to them.
    for &server in &chosen[..2] {
        ground.servers[server].start_again();
    }
    auto_mutex_tests::events::eventually("it goes on", || mutex.blocking_try_lock().is_ok());
}
