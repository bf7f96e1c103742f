//! Points 1, 3, 5, 9 and 12: which holder owns the lock, and for how long.

use std::time::{Duration, SystemTime};

use auto_mutex::{Client, LockError};
use auto_mutex_tests::events::{LONG, soon};
use auto_mutex_tests::redis::Redis;
use auto_mutex_tests::worker;

use crate::rig::Rig;

#[tokio::test]
async fn em_mutex_01_expiry_never_comes_from_the_clients_clock() {
    let rig = Rig::new();
    let mut monitor = rig.redis.connect();
    monitor.call(&["MONITOR"]);
    let guard = rig.client().mutex("m").lock().await.unwrap();
    guard.refresh(Duration::from_secs(5)).await.unwrap();
    guard.unlock().await.unwrap();
    rig.redis.command(&["ECHO", "the end"]);
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let mut commands = 0;
    loop {
        let line = monitor.receive().unwrap().to_string();
        if line.contains("\"the end\"") {
            break;
        }
        // Only clients' commands are checked, not those run by scripts in the server.
        let Some((_, command)) = line
            .split_once("] ")
            .filter(|(head, _)| !head.ends_with("lua"))
        else {
            continue;
        };
        commands += 1;
        // A number that, in any unit, is a time within a year from now would come from the client's clock.
        for word in command.split(|c: char| !c.is_ascii_alphanumeric()) {
            let Ok(number) = word.parse::<f64>() else {
                continue;
            };
            for unit in [1.0, 1e3, 1e6, 1e9] {
                let seconds = number / unit;
                assert!(
                    (seconds - now).abs() > 3.2e7,
                    "a time of day is sent: {command}"
                );
            }
        }
    }
    assert!(commands >= 4, "the monitor saw only {commands} commands");
}

#[tokio::test]
async fn em_mutex_05_a_failed_unlock_is_carried_out_when_the_store_is_back() {
    let rig = Rig::new();
    let other = rig.client();
    let client = Client::connect(rig.proxied_config().lease(LONG).store_timeout("1s")).unwrap();
    let guard = client.mutex("m").lock().await.unwrap();
    rig.proxy.refuse();
    rig.proxy.cut();
    let error = soon("an answer", guard.unlock()).await.unwrap_err();
    assert!(matches!(error, LockError::Unavailable { .. }), "{error:?}");
    assert!(
        other.mutex("m").try_lock().await.unwrap().is_none(),
        "nothing reached the store yet"
    );
    rig.proxy.heal();
    drop(
        soon("the release is made up for", other.mutex("m").lock())
            .await
            .unwrap(),
    );
}

#[test]
fn em_mutex_12_a_forked_child_may_neither_lock_nor_release() {
    let redis = Redis::start();
    let lines = worker::forks(env!("CARGO_BIN_EXE_test-fork"), &redis.url(), "holding");
    assert_eq!(
        lines,
        [
            "child lock forked",
            "child guard lost",
            "child gone",
            "parent check true",
            "parent unlocked Ok(true)",
            "children connected",
        ],
    );
}
