//! The order in which locks are taken: which calls make an edge.

use std::time::Duration;

use auto_mutex::{Client, Mutex, OrderEdge};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::TestStore;

fn member(store: &dyn TestStore) -> Client {
    Client::connect(store.config()).unwrap()
}

/// Returns a mutex with a label equal to its name.
fn mutex(client: &Client, label: &'static str) -> Mutex {
    client.mutex(label).metrics_label(label)
}

/// Takes `after` in a body under `before`.
async fn nest(client: &Client, before: &'static str, after: &'static str) {
    let (before, after) = (mutex(client, before), mutex(client, after));
    let inner = before.synchronize(async |_| after.synchronize(async |_| ()).await);
    inner.await.unwrap().unwrap();
}

/// Returns the edges of a client as `before after`, sorted.
fn edges(client: &Client) -> Vec<String> {
    let text = |edge: &OrderEdge| format!("{} {}", edge.before.label, edge.after.label);
    let mut edges: Vec<_> = client.lock_order().iter().map(text).collect();
    edges.sort();
    edges
}

fn is_inverted(client: &Client) -> bool {
    client.lock_order().iter().any(|edge| edge.inverted)
}

pub(crate) async fn a_nested_call_makes_an_edge_once(store: &dyn TestStore) {
    let client = member(store);
    for _ in 0..3 {
        nest(&client, "a", "b").await;
    }
    let known = client.lock_order();
    assert_eq!(known.len(), 1, "{known:?}");
    let edge = &known[0];
    assert_eq!((&*edge.before.label, &*edge.after.label), ("a", "b"));
    for label in [&edge.before, &edge.after] {
        assert_eq!(label.file, file!());
        assert!(label.line > 1, "{label:?}");
    }
    assert!(!edge.inverted && edge.allowed.is_none());
    client.assert_lock_order();
}

pub(crate) async fn every_lock_around_a_call_counts(store: &dyn TestStore) {
    let client = member(store);
    let inner = async || nest(&client, "b", "c").await;
    mutex(&client, "a")
        .synchronize(async |_| inner().await)
        .await
        .unwrap();
    assert_eq!(edges(&client), ["a b", "a c", "b c"]);
}

pub(crate) async fn what_cannot_hang_or_has_no_label_makes_none(store: &dyn TestStore) {
    let client = member(store);
    let [a, b] = ["a", "b"].map(|label| mutex(&client, label));
    let inside = async {
        // Attempts that do not wait make no edge, and neither do the calls below.
        assert!(b.try_lock().await.unwrap().is_some());
        assert!(b.clone().block("0s").lock().await.is_ok());
        // The same lock again.
        let again = a.clone().reentrant().lock().await;
        assert!(again.is_ok());
        // Handles without their own label: one has none, and the other has the label of all such handles.
        assert!(client.mutex("c").lock().await.is_ok());
        assert!(
            client
                .mutex("c")
                .metrics_label("by_hand")
                .lock()
                .await
                .is_ok()
        );
        // A lock of another client.
        assert!(mutex(&member(store), "d").lock().await.is_ok());
        // A lock of another task.
        let other = mutex(&client, "e");
        let task = tokio::spawn(async move { other.lock().await.map(drop) });
        task.await.unwrap().unwrap();
    };
    a.synchronize(async |_| inside.await).await.unwrap();
    // A guard taken by hand may be with another task by now, so it makes no edge.
    let guard = a.lock().await.unwrap();
    assert!(b.lock().await.is_ok());
    drop(guard);
    // A body without a label makes no edge either.
    let unnamed = client.mutex("c");
    let inner = unnamed.synchronize(async |_| b.lock().await.map(drop));
    inner.await.unwrap().unwrap();
    assert_eq!(edges(&client), [""; 0]);
}

pub(crate) async fn a_wait_with_an_end_makes_one(store: &dyn TestStore) {
    let client = member(store);
    let [a, b] = ["a", "b"].map(|label| mutex(&client, label));
    let b = b.block(Duration::from_secs(30));
    a.synchronize(async |_| b.lock().await.map(drop))
        .await
        .unwrap()
        .unwrap();
    // A call that polls is in no queue, so it makes none.
    let polls = mutex(&client, "c").retries(3, "10ms");
    a.synchronize(async |_| polls.lock().await.map(drop))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(edges(&client), ["a b"]);
}

pub(crate) async fn readers_and_permits_have_an_order_too(store: &dyn TestStore) {
    let client = member(store);
    let [one, two] = ["one", "two"].map(|label| client.rw_lock(label).metrics_label(label));
    let read = one.synchronize_read(async |_| two.read().await.map(drop));
    read.await.unwrap().unwrap();
    let pool = client.semaphore("pool", 5).metrics_label("pool");
    let permit = one.synchronize_read(async |_| pool.acquire().await.map(drop));
    permit.await.unwrap().unwrap();
    let inside = pool.synchronize(async |_| two.write().await.map(drop));
    inside.await.unwrap().unwrap();
    // More permits of the same semaphore make no edge.
    let more = pool.synchronize(async |_| pool.acquire_many(2).await.map(drop));
    more.await.unwrap().unwrap();
    assert_eq!(edges(&client), ["one pool", "one two", "pool two"]);
}

pub(crate) async fn locks_that_are_taken_together_have_no_order(store: &dyn TestStore) {
    let client = member(store);
    let both = client.multi(["x", "y"]).metrics_label("both");
    let taken = both.synchronize(async |_| both.clone().reentrant().lock().await.map(drop));
    taken.await.unwrap().unwrap();
    assert_eq!(edges(&client), [""; 0]);
    // A call for several locks makes edges with an outer lock and with an inner one.
    let [a, b] = ["a", "b"].map(|label| mutex(&client, label));
    let inner = async || both.synchronize(async |_| b.lock().await.map(drop)).await;
    a.synchronize(async |_| inner().await)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
    assert_eq!(edges(&client), ["a b", "a both", "both b"]);
    // An attempt makes no edge.
    let attempt = client.multi(["v", "w"]).metrics_label("attempt");
    let tried = a.synchronize(async |_| attempt.try_lock().await.map(drop));
    tried.await.unwrap().unwrap();
    assert_eq!(edges(&client).len(), 3);
}

pub(crate) async fn another_key_of_a_label_is_a_finding(store: &dyn TestStore) {
    let client = member(store);
    let [one, two] = ["1", "2"].map(|key| client.mutex(key).metrics_label("account"));
    let again = one.clone().reentrant();
    one.synchronize(async |_| again.lock().await.map(drop))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(edges(&client), [""; 0]);
    one.synchronize(async |_| two.lock().await.map(drop))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(edges(&client), ["account account"]);
    assert!(is_inverted(&client));
    let panicked = std::panic::catch_unwind(|| client.assert_lock_order()).unwrap_err();
    let text = panicked.downcast_ref::<String>().unwrap();
    assert!(
        text.contains("take them together with `keys = [..]`"),
        "{text}"
    );
}

pub(crate) async fn a_condition_variable_has_no_order(store: &dyn TestStore) {
    let client = member(store);
    let [a, b] = ["a", "b"].map(|label| mutex(&client, label));
    let waits = async {
        let guard = b.lock().await?;
        let condition = client.condvar("c");
        condition.wait_timeout(guard, "10ms").await.map(drop)
    };
    a.synchronize(async |_| waits.await).await.unwrap().unwrap();
    assert_eq!(edges(&client), ["a b"]);
}

pub(crate) async fn opposite_orders_are_found_without_a_deadlock(store: &dyn TestStore) {
    let client = member(store);
    nest(&client, "a", "b").await;
    nest(&client, "b", "c").await;
    assert!(!is_inverted(&client));
    nest(&client, "c", "a").await;
    assert!(client.lock_order().iter().all(|edge| edge.inverted));
    let panicked = std::panic::catch_unwind(|| client.assert_lock_order()).unwrap_err();
    let text = panicked.downcast_ref::<String>().unwrap();
    assert_eq!(text.matches(file!()).count(), 6, "{text}");
}

pub(crate) async fn a_client_knows_only_its_own_orders(store: &dyn TestStore) {
    let [here, there] = [(); 2].map(|()| member(store));
    nest(&here, "a", "b").await;
    nest(&there, "b", "a").await;
    assert_eq!(edges(&here), ["a b"]);
    assert_eq!(edges(&there), ["b a"]);
    for client in [&here, &there] {
        client.assert_lock_order();
    }
}

pub(crate) async fn an_allowed_order_contradicts_none(store: &dyn TestStore) {
    let allows = Client::connect(store.config().allow_order("b", "a")).unwrap();
    nest(&allows, "a", "b").await;
    nest(&allows, "b", "a").await;
    assert!(!is_inverted(&allows));
    let marked: Vec<_> = allows
        .lock_order()
        .into_iter()
        .filter(|edge| edge.allowed.is_some())
        .collect();
    assert_eq!(marked.len(), 1);
    assert_eq!(
        (&*marked[0].before.label, &*marked[0].after.label),
        ("b", "a")
    );
}

pub(crate) async fn a_thread_has_an_order_like_a_task(store: &dyn TestStore) {
    let client = member(store);
    let [a, b] = ["a", "b"].map(|label| mutex(&client, label));
    let thread = move || a.blocking_synchronize(|_| b.blocking_lock().map(drop));
    store.thread(thread).await.unwrap().unwrap().unwrap();
    assert_eq!(edges(&client), ["a b"]);
}

pub(crate) async fn a_guard_of_a_reentrant_handle_makes_an_edge(store: &dyn TestStore) {
    let client = member(store);
    let [a, b] = ["a", "b"].map(|label| mutex(&client, label));
    let task = tokio::spawn(async move {
        let _guard = a.reentrant().lock().await?;
        b.lock().await.map(drop)
    });
    soon("the task ends", task).await.unwrap().unwrap();
    assert_eq!(edges(&client), ["a b"]);
}
