//! The store's records of holders and waiters.

use auto_mutex::{Client, LockError, MultiGuard, MutexGuard, auto_mutex};
use auto_mutex_tests::events::{becomes, soon, waiters};
use auto_mutex_tests::stores::TestStore;

#[auto_mutex(name = "outer", client = client)]
async fn outer(client: &Client) -> Result<(), LockError> {
    middle(client).await
}

#[auto_mutex(name = "middle", client = client)]
async fn middle(client: &Client) -> Result<(), LockError> {
    drop(client.mutex("inner").lock().await?);
    Ok(())
}

pub(crate) async fn a_waiter_and_a_holder_say_what_their_tasks_hold(store: &dyn TestStore) {
    let (client, there) = (store.member(), store.member());
    let held = there.mutex("inner").lock().await.unwrap();
    let call = tokio::spawn({
        let client = client.clone();
        async move { outer(&client).await }
    });
    waiters(&there.mutex("inner"), 1).await;
    let info = there.mutex("inner").info().await.unwrap();
    assert_eq!(info.holders[0].holds, [""; 0]);
    assert_eq!(info.waiters[0].holds, ["suite:outer", "suite:middle"]);
    assert_eq!(info.waiters[0].file(), Some(file!()));
    let line = include_str!("records.rs").lines();
    let line = line.take_while(|line| !line.contains("client.mutex(\"inner\")"));
    assert_eq!(info.waiters[0].line(), u32::try_from(line.count() + 1).ok());
    let middle = there.mutex("middle").info().await.unwrap();
    assert_eq!(middle.holders[0].holds, ["suite:outer"]);
    assert_eq!(middle.holders[0].file(), Some(file!()));
    let outer = there.mutex("outer").info().await.unwrap();
    assert_eq!(outer.holders[0].holds, [""; 0]);
    drop(held);
    soon("it ends", call).await.unwrap().unwrap();

    // A spawned task does not hold the locks of its parent task. A call for several locks holds those before the one
    // that it waits for.
    let held = there.mutex("b").lock().await.unwrap();
    let inside = async |_: &MutexGuard| {
        let spawned = client.clone();
        let call = tokio::spawn(async move {
            let inside = async |_: &MultiGuard| ();
            spawned.multi(["a", "b", "c"]).synchronize(inside).await
        });
        waiters(&there.mutex("b"), 1).await;
        let info = there.mutex("b").info().await.unwrap();
        assert_eq!(info.waiters[0].holds, ["suite:a"]);
        call.abort();
        becomes("it gives up", async || {
            there.mutex("b").info().await.unwrap().waiters.is_empty()
        })
        .await;
    };
    client.mutex("around").synchronize(inside).await.unwrap();
    drop(held);
}

pub(crate) async fn one_that_holds_nothing_says_nothing(store: &dyn TestStore) {
    let (client, there) = (store.member(), store.member());
    let guard = client.mutex("first").lock().await.unwrap();
    // The handle of `first` is not re-entrant, so its guard belongs to no task.
    let second = client
        .mutex("second")
        .owner("night shift")
        .lock()
        .await
        .unwrap();
    let info = there.mutex("second").info().await.unwrap();
    assert_eq!(info.holders[0].holds, [""; 0]);
    assert_eq!(info.holders[0].owner.as_deref(), Some("night shift"));
    let inside = async |_: &MutexGuard| {
        let owned = client.mutex("third").owner("night shift");
        let third = owned.lock().await.unwrap();
        let info = there.mutex("third").info().await.unwrap();
        assert_eq!(info.holders[0].holds, ["suite:around"]);
        assert_eq!(info.holders[0].owner.as_deref(), Some("night shift"));
        assert!(owned.is_owned().await.unwrap());
        assert!(third.unlock().await.unwrap());
    };
    client.mutex("around").synchronize(inside).await.unwrap();
    drop((guard, second));
}
