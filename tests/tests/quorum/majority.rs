//! Three of five servers fail: nothing is granted, every call fails in time, and the quorum recovers by itself.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::runtimes::current_thread;

use crate::ground::Ground;

const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(1);

#[test]
fn without_a_majority_nothing_is_granted_until_it_is_back() {
    let _watch = real_time();
    let mut ground = Ground::open("majority");
    let client = auto_mutex::Client::connect(ground.config(LEASE).store_timeout(PATIENCE)).unwrap();
    let holder = ground.member(LEASE);
    current_thread().block_on(async {
        let held = holder.mutex("held").lock().await.unwrap();
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
            let error = client.mutex("m").lock().await.unwrap_err();
            assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
            let error = client.mutex("m").try_lock().await.unwrap_err();
            assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
            let error = client.mutex("m").info().await.unwrap_err();
            assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
            soon("a lease without a majority ends", held.lost()).await;
            for &server in &chosen {
                ground.servers[server].cont();
                ground.proxies[server].heal();
            }
            becomes("it is back", async || {
                client.mutex("m").lock().await.is_ok()
            })
            .await;
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
fn a_set_up_needs_a_majority() {
    let mut ground = Ground::open("set-up");
    let chosen = ground.some(3);
    for &server in &chosen[..2] {
        ground.servers[server].kill9();
    }
    let client = ground.member(LONG);
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
