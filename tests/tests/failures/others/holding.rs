//! Bugs of renewals and releases, and leftover keys.

use auto_mutex::LockError;
use auto_mutex_tests::events::{LONG, soon};

use crate::rig::Rig;

#[tokio::test]
async fn others_a_refresh_never_revives_a_lost_lock() {
    let rig = Rig::new();
    let client = rig.client();
    let guard = client.mutex("m").lock().await.unwrap();
    client.mutex("m").force_unlock().await.unwrap();
    soon("the loss", guard.lost()).await;
    for _ in 0..3 {
        let error = guard.refresh(LONG).await.unwrap_err();
        assert!(matches!(error, LockError::Lost { .. }), "{error:?}");
    }
    assert_eq!(rig.redis.held(), 0);
    assert!(guard.is_lost());
    // Nor does a refresh revive a lock that the store has lost without the holder's knowledge.
    let guard = client.mutex("m").lock().await.unwrap();
    rig.redis
        .command(&["DEL", "auto_mutex:{suite:m}", "auto_mutex:{suite:m}:held"]);
    let error = guard.refresh(LONG).await.unwrap_err();
    assert!(matches!(error, LockError::Lost { .. }), "{error:?}");
    assert_eq!(rig.redis.held(), 0);
    assert!(guard.is_lost());
}
