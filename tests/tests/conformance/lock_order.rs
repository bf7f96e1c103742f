//! The order in which locks are taken: which calls make an edge.

use crate::prelude::*;

/// Returns mutexes with labels equal to their names.
fn mutexes<const N: usize>(client: &Client, labels: [&'static str; N]) -> [Mutex; N] {
    labels.map(|label| client.mutex(label).metrics_label(label))
}

/// Makes a call in a body under `outer`.
async fn under<T>(outer: &Mutex, call: impl Future<Output = Result<T, LockError>>) {
    let body = outer.synchronize(async |_| call.await.map(drop));
    body.await.unwrap().unwrap();
}

/// Takes `after` in a body under `before`.
async fn nest(client: &Client, before: &'static str, after: &'static str) {
    let [before, after] = mutexes(client, [before, after]);
    under(&before, after.synchronize(async |_| ())).await;
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

/// The message with which `assert_lock_order` fails.
fn finding(client: &Client) -> String {
    let panicked = std::panic::catch_unwind(|| client.assert_lock_order());
    *panicked.unwrap_err().downcast().unwrap()
}

pub(crate) async fn a_nested_call_makes_an_edge_once(store: &dyn TestStore) {
    let client = store.member();
    for _ in 0..3 {
        nest(&client, "b", "c").await;
    }
    let known = client.lock_order();
    assert_eq!(known.len(), 1, "{known:?}");
    let edge = &known[0];
    assert_eq!((&*edge.before.label, &*edge.after.label), ("b", "c"));
    for label in [&edge.before, &edge.after] {
        assert_eq!(label.file, file!());
        assert!(label.line > 1, "{label:?}");
    }
    assert!(!edge.inverted && edge.allowed.is_none());
    client.assert_lock_order();
    // Every lock around a call counts.
    let [a] = mutexes(&client, ["a"]);
    let nests = async {
        nest(&client, "b", "c").await;
        Ok(())
    };
    under(&a, nests).await;
    assert_eq!(edges(&client), ["a b", "a c", "b c"]);
}

pub(crate) async fn what_cannot_hang_or_has_no_label_makes_none(store: &dyn TestStore) {
    let [client, other] = store.members();
    let [a, b, e] = mutexes(&client, ["a", "b", "e"]);
    under(&a, async {
        // Attempts that do not wait make no edge, and neither do the calls below.
        assert!(b.try_lock().await?.is_some());
        drop(b.clone().block("0s").lock().await?);
        drop(
            client
                .multi(["v", "w"])
                .metrics_label("many")
                .try_lock()
                .await?,
        );
        // The same lock again.
        drop(a.clone().reentrant().lock().await?);
        // Handles without their own label: one has none, and the other has the label of all such handles.
        drop(client.mutex("c").lock().await?);
        drop(client.mutex("c").metrics_label("by_hand").lock().await?);
        // A lock of another client.
        let [d] = mutexes(&other, ["d"]);
        drop(d.lock().await?);
        // A lock of another task.
        tokio::spawn(async move { e.lock().await.map(drop) })
            .await
            .unwrap()
    })
    .await;
    // A guard taken by hand may be with another task by now, so it makes no edge.
    let guard = a.lock().await.unwrap();
    assert!(b.lock().await.is_ok());
    drop(guard);
    // A body without a label makes no edge either.
    under(&client.mutex("c"), b.lock()).await;
    assert_eq!(edges(&client), [""; 0]);
}

pub(crate) async fn what_may_wait_makes_one(store: &dyn TestStore) {
    let client = store.member();
    let [a, b, c, d, e] = mutexes(&client, ["a", "b", "c", "d", "e"]);
    // A wait with an end.
    under(&a, b.clone().block(Duration::from_secs(30)).lock()).await;
    // A condition variable has no order.
    let waits = async {
        let guard = b.lock().await?;
        client.condvar("c").wait_timeout(guard, "10ms").await
    };
    under(&a, waits).await;
    // A thread has an order like a task.
    let (outer, inner) = (a.clone(), c);
    let thread = move || outer.blocking_synchronize(|_| inner.blocking_lock().map(drop));
    store.thread(thread).await.unwrap().unwrap().unwrap();
    // A guard of a reentrant handle.
    let task = tokio::spawn(async move {
        let _guard = d.reentrant().lock().await?;
        e.lock().await.map(drop)
    });
    soon("the task ends", task).await.unwrap().unwrap();
    assert_eq!(edges(&client), ["a b", "a c", "d e"]);
}

pub(crate) async fn readers_and_permits_have_an_order_too(store: &dyn TestStore) {
    let client = store.member();
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
    let client = store.member();
    let both = client.multi(["x", "y"]).metrics_label("both");
    let taken = both.synchronize(async |_| both.clone().reentrant().lock().await.map(drop));
    taken.await.unwrap().unwrap();
    assert_eq!(edges(&client), [""; 0]);
    // A call for several locks makes edges with an outer lock and with an inner one.
    let [a, b] = mutexes(&client, ["a", "b"]);
    let inner = async { both.synchronize(async |_| b.lock().await.map(drop)).await? };
    under(&a, inner).await;
    assert_eq!(edges(&client), ["a b", "a both", "both b"]);
}

pub(crate) async fn opposite_orders_are_found_without_a_deadlock(store: &dyn TestStore) {
    let [client, there] = store.members();
    nest(&client, "a", "b").await;
    nest(&client, "b", "c").await;
    // A client knows only its own orders.
    nest(&there, "c", "a").await;
    assert!(!is_inverted(&client));
    client.assert_lock_order();
    nest(&client, "c", "a").await;
    assert!(client.lock_order().iter().all(|edge| edge.inverted));
    let text = finding(&client);
    assert_eq!(text.matches(file!()).count(), 6, "{text}");
    assert_eq!(edges(&there), ["c a"]);
    there.assert_lock_order();
}
