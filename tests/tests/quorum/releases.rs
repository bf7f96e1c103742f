//! Locks that are released, or whose acquire never finished, become free on all servers.

use std::time::Duration;

use auto_mutex_tests::events::{LONG, becomes, eventually, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::runtimes::current_thread;

use crate::ground::{Ground, SERVERS};

#[test]
fn a_release_is_owed_to_a_server_that_is_away() {
    let mut ground = Ground::open("owed");
    let client = ground.member(LONG);
    let away = ground.some(2);
    let guard = client.mutex("m").blocking_lock().unwrap();
    eventually("all have granted", || {
        (0..SERVERS).all(|server| {
            ground
                .member_of(server)
                .mutex("m")
                .blocking_is_locked()
                .unwrap()
        })
    });
    for &server in &away {
        ground.proxies[server].refuse();
        ground.proxies[server].cut();
    }
    assert!(guard.blocking_unlock().unwrap());
    for &server in &away {
        assert!(
            ground
                .member_of(server)
                .mutex("m")
                .blocking_is_locked()
                .unwrap()
        );
        ground.proxies[server].heal();
    }
    // The lock is released on these servers long before the lease ends.
    for &server in &away {
        let there = ground.member_of(server);
        eventually("it is released there too", || {
            !there.mutex("m").blocking_is_locked().unwrap()
        });
    }
}

#[test]
fn a_process_killed_while_it_acquires_leaves_nothing_beyond_its_lease() {
    let _watch = real_time();
    const LEASE: Duration = Duration::from_secs(1);
    let mut ground = Ground::open("dying");
    let client = ground.member(LONG);
    current_thread().block_on(async {
        for round in 0..5 {
            let mut worker = ground.launch(LEASE);
            worker.ready();
            let name = format!("m{round}");
            worker.say(&format!("lock {name}"));
            std::thread::sleep(Duration::from_micros(ground.seed.below(4000)));
            worker.kill9();
            let guard = soon("it is free", client.mutex(&name).lock())
                .await
                .unwrap();
            assert!(guard.unlock().await.unwrap());
            for server in 0..SERVERS {
                let there = ground.member_of(server);
                becomes("nothing is left", async || {
                    let info = there.mutex(&name).info().await.unwrap();
                    info.holders.is_empty() && info.waiters.is_empty()
                })
                .await;
            }
        }
    });
}
