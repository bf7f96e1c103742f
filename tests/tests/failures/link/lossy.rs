//! Requests and replies that are lost, late or sent twice.

use std::time::Duration;

use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::seed::Seed;

use crate::rig::Rig;

#[tokio::test]
async fn cuts_at_any_moment_leave_nothing_behind() {
    let mut seed = Seed::announce("cuts_at_any_moment_leave_nothing_behind");
    let rig = Rig::new();
    let clients = [rig.proxied(), rig.proxied()];
    for _ in 0..30 {
        let tasks: Vec<_> = (0..4)
            .map(|number| {
                let client = clients[number % 2].clone();
                tokio::spawn(async move {
                    let guard = client.mutex("m").lock().await.unwrap();
                    tokio::task::yield_now().await;
                    drop(guard);
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_micros(seed.below(3000))).await;
        match seed.below(4) {
            0 => rig.proxy.cut(),
            1 => rig.proxy.lose_request(),
            _ => rig.proxy.lose_reply_after(seed.below(200) as usize),
        }
        for task in tasks {
            soon("everybody gets in", task).await.unwrap();
        }
    }
    rig.proxy.heal();
    becomes("nobody holds or waits", async || {
        rig.redis.held() == 0 && rig.redis.waiting() == 0
    })
    .await;
    assert_eq!(rig.redis.keys_without_ttl(), []);
}
