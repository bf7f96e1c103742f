//! A call for several names whose store is silent.

use std::time::Duration;

use auto_mutex::LockError;
use auto_mutex::test::World;
use auto_mutex_tests::events::{soon, waiters, with};

#[auto_mutex::test]
async fn a_silent_store_keeps_nobody_who_gives_up(world: World) {
    let (client, other) = (world.client("a"), world.client("b"));
    let _busy = other.mutex("b").lock().await.unwrap();
    let block = Duration::from_secs(2);
    let waiting = with(&client, |client| async move {
        client.multi(["a", "b"]).block(block).lock().await.map(drop)
    });
    waiters(&other.mutex("b"), 1).await;
    let begun = world.now();
    world.disconnect(&client);
    // The call waits neither for the store timeout nor until the link is replaced.
    let error = soon("an answer", waiting).await.unwrap().unwrap_err();
    let told = error.is_timeout() || matches!(error, LockError::Unavailable { .. });
    assert!(told, "{error:?}");
    assert!(world.now() - begun < 2 * block);
    assert!(other.mutex("a").try_lock().await.unwrap().is_none());
    let connected = world.now();
    world.reconnect(&client);
    drop(soon("given back", other.mutex("a").lock()).await.unwrap());
    assert!(world.now() - connected < block);
}
