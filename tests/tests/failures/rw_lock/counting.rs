//! Points 1, 2, 3 and 7: wrong counts of readers.

use std::time::Duration;

use auto_mutex::Client;
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn rw_lock_3_a_killed_reader_lets_nobody_in_beside_a_writer() {
    let rig = Rig::new();
    let (writer, reader) = (rig.client(), rig.client());
    let mut dying = rig.worker(Duration::from_secs(1));
    dying.say("read rw");
    dying.got("rw");
    dying.kill9();
    let writing = soon(
        "a killed reader costs one lease",
        writer.rw_lock("rw").write(),
    )
    .await
    .unwrap();
    // The original lock would still count the killed reader, mistake this reader for the second one, and grant the
    // lock.
    assert!(reader.rw_lock("rw").try_read().await.unwrap().is_none());
    let reading = tokio::spawn(async move { reader.rw_lock("rw").read().await });
    waiters(&writer.mutex("rw"), 1).await;
    assert_eq!(rig.redis.held(), 1);
    assert!(writing.unlock().await.unwrap());
    let reading = soon("its turn", reading).await.unwrap().unwrap();
    assert!(writer.rw_lock("rw").try_write().await.unwrap().is_none());
    assert!(reading.unlock().await.unwrap());
}

#[tokio::test]
async fn rw_lock_7_a_reader_that_comes_back_late_leaves_no_debt() {
    let rig = Rig::new();
    let late = Client::connect(rig.proxied_config().lease("1s").store_timeout("30s")).unwrap();
    let (reader, writer) = (rig.client(), rig.client());
    let (reader, writer) = (reader.rw_lock("rw"), writer.rw_lock("rw"));
    for dropped in [false, true] {
        let lock = late.rw_lock("rw");
        let [one, two] = [lock.read().await.unwrap(), lock.read().await.unwrap()];
        rig.proxy.freeze();
        let ends = if dropped {
            drop((one, two));
            None
        } else {
            soon("the loss is told", two.lost()).await;
            Some((one, two))
        };
        becomes("the store has ended both", async || rig.redis.held() == 0).await;
        let reading = [&reader, &writer].map(|lock| lock.read());
        let reading = soon("others read", futures::future::try_join_all(reading)).await;
        let reading = reading.unwrap();
        let before = rig.redis.calls("evalsha");
        rig.proxy.thaw();
        if let Some((one, two)) = ends {
            assert!(was_lost(one.unlock().await));
            assert!(was_lost(two.unlock().await));
        }
        becomes("they come back", async || {
            rig.redis.calls("evalsha") > before
        })
        .await;
        soon("all has arrived", lock.info()).await.unwrap();
        // The count is not below zero: each reader still excludes a writer.
        assert_eq!(rig.redis.held(), 2);
        for guard in reading {
            assert!(writer.try_write().await.unwrap().is_none());
            assert!(guard.unlock().await.unwrap());
        }
        let writing = writer.try_write().await.unwrap().expect("nobody reads");
        assert!(reader.try_read().await.unwrap().is_none());
        assert!(writing.unlock().await.unwrap());
    }
}
