//! A server that is restarted without its data. (With it: `kinds` and `refusals`.)

use auto_mutex_tests::events::soon;
use auto_mutex_tests::was_lost;

use crate::rig::{Rig, waiters};

#[tokio::test]
async fn a_restart_without_data_is_told_and_tokens_still_grow() {
    let rig = Rig::new();
    let (holder, waiter) = (rig.client(), rig.client());
    let guard = holder.mutex("m").lock().await.unwrap();
    let waiting = tokio::spawn(async move { waiter.mutex("m").lock().await.unwrap() });
    waiters(&holder.mutex("m"), 1).await;
    rig.redis.restart();
    let next = soon("the waiter asks again", waiting).await.unwrap();
    assert!(next.fencing_token() > guard.fencing_token());
    soon("the former holder learns it", guard.lost()).await;
    assert!(was_lost(guard.unlock().await));
    next.check().unwrap();
    assert!(next.unlock().await.unwrap());
}
