//! Locks whose acquire never finished become free on all servers.

use std::time::Duration;

use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::runtimes::current_thread;

use crate::ground::{Ground, SERVERS};

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
