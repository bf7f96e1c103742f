//! Calls for several names over a link that is slow or frozen.

use std::time::{Duration, Instant};

use auto_mutex::LockError;
use auto_mutex_tests::events::{becomes, soon};

use crate::rig::{Rig, waiters};

/// For this long, a call that did not get all locks waits for the store to confirm the release of the others.
const MOMENT: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_try_that_says_none_holds_nothing_any_more() {
    let rig = Rig::new();
    let (client, other) = (rig.proxied(), rig.client());
    let _busy = other.mutex("b").lock().await.unwrap();
    // The delay makes a release slow. A call that returned before the store confirmed it would leave `a` and `c` held for
    // the other client.
    rig.proxy.delay(Duration::from_millis(150));
    loop {
        let started = Instant::now();
        let tried = client.multi(["a", "b", "c"]).try_lock().await;
        let in_time = started.elapsed() < MOMENT;
        let free = [
            other.mutex("a").try_lock().await,
            other.mutex("c").try_lock().await,
        ]
        .map(|free| free.unwrap().is_some());
        match tried {
            Ok(tried) if in_time => {
                assert!(tried.is_none());
                assert_eq!(free, [true; 2]);
                return;
            }
            // The machine stalled.
            _ => {
                becomes("nothing is left", async || rig.redis.held() == 1).await;
            }
        }
    }
}

#[tokio::test]
async fn a_silent_store_keeps_nobody_who_gives_up() {
    let rig = Rig::new();
    let (client, other) = (rig.proxied(), rig.client());
    let _busy = other.mutex("b").lock().await.unwrap();
    let block = Duration::from_secs(2);
    let waiting = tokio::spawn({
        let multi = client.multi(["a", "b"]).block(block);
        async move { multi.lock().await.map(drop) }
    });
    waiters(&other.mutex("b"), 1).await;
    rig.proxy.freeze();
    // The call waits neither for the store timeout nor until the link is replaced.
    let error = soon("an answer", waiting).await.unwrap().unwrap_err();
    let told = error.is_timeout() || matches!(error, LockError::Unavailable { .. });
    assert!(told, "{error:?}");
    assert!(other.mutex("a").try_lock().await.unwrap().is_none());
    rig.proxy.thaw();
    drop(soon("given back", other.mutex("a").lock()).await.unwrap());
}
