//! Which client is in force in a scope, a task or a thread.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::StreamExt;
use futures::executor::block_on;
use futures::stream::FuturesUnordered;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;

use crate::prelude::*;

fn none() {
    is!(auto_mutex::client(), Err(LockError::NotSetUp));
}

pub(crate) async fn without_a_client_in_force_a_lock_is_not_set_up(_store: &dyn TestStore) {
    // No test of this program calls `setup`.
    none();
    let mutex = Mutex::new("m");
    is!(mutex.lock().await, Err(LockError::NotSetUp));
    is!(mutex.try_lock().await, Err(LockError::NotSetUp));
    is!(mutex.info().await, Err(LockError::NotSetUp));
    is!(mutex.blocking_lock(), Err(LockError::NotSetUp));
}

pub(crate) async fn inside_a_scope_its_client_is_in_force(store: &dyn TestStore) {
    let [client, other] = store.members();
    let inside = client.scope(async {
        assert_eq!(auto_mutex::client().unwrap().namespace(), Some("suite"));
        Mutex::new("m").lock().await.unwrap()
    });
    let guard = inside.await;
    none();
    // The guard does not need the scope.
    guard.check().unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
}

/// Two clients, each in its own namespace.
fn two(store: &dyn TestStore) -> [Client; 2] {
    ["a", "b"].map(|namespace| Client::connect(store.config().namespace(namespace)).unwrap())
}

pub(crate) async fn scopes_nest_and_do_not_leak_to_other_tasks(store: &dyn TestStore) {
    let [outer, inner] = two(store);
    let in_force = || auto_mutex::client().unwrap().namespace().map(str::to_owned);
    let body = outer.scope(async {
        let neighbour = tokio::spawn(async { none() });
        let body = inner.scope(async {
            tokio::task::yield_now().await;
            assert_eq!(in_force().as_deref(), Some("b"));
        });
        body.await;
        assert_eq!(in_force().as_deref(), Some("a"));
        soon("a spawned task is outside", neighbour).await.unwrap();
    });
    body.await;
}

pub(crate) async fn a_spawned_task_is_given_the_client(store: &dyn TestStore) {
    let client = store.member();
    let spawns = client.scope(async {
        let here = auto_mutex::client().unwrap();
        let lock = || async { Mutex::new("m").lock().await };
        (tokio::spawn(lock()), tokio::spawn(here.scope(lock())))
    });
    let (alone, given) = spawns.await;
    let error = soon("an answer", alone).await.unwrap().unwrap_err();
    is!(error, LockError::NotSetUp);
    let advice = "tokio::spawn(client.scope(future))";
    assert!(error.to_string().contains(advice), "{error}");
    let guard = soon("an answer", given).await.unwrap().unwrap();
    assert_eq!(guard.name(), "m");
    // A thread needs a scope too.
    drop(guard);
    let locked = move || client.blocking_scope(|| Mutex::new("m").blocking_lock().map(drop));
    store.thread(move || locked().unwrap()).await.unwrap();
}

/// The complete names of the locks `m` and `other` as they are taken here.
async fn taken_here() -> String {
    let guard = Mutex::new("m").lock().await.unwrap();
    let m = held_here("m").await;
    // The task may go on in another poll.
    tokio::task::yield_now().await;
    let again = Mutex::new("other").lock().await.unwrap();
    let both = format!("{m} {}", held_here("other").await);
    drop((guard, again));
    both
}

/// The complete name of a held lock, from the error of another call for it.
async fn held_here(name: &str) -> String {
    let refused = Mutex::new(name).block("0s").lock().await.unwrap_err();
    refused.name().expect("the lock").to_owned()
}

/// The complete name of the lock `m` as this thread takes it.
fn taken_on_this_thread() -> String {
    let _guard = Mutex::new("m").blocking_try_lock().unwrap().expect("free");
    let refused = Mutex::new("m").block("0s").blocking_lock().unwrap_err();
    refused.name().expect("the lock").to_owned()
}

const ON_A: &str = "a:m a:other";
const ON_B: &str = "b:m b:other";

/// A task that takes locks on its client on command.
fn neighbour(
    a: &Client,
) -> (
    oneshot::Sender<()>,
    impl Future<Output = String> + Send + use<>,
) {
    let (go_on, may_go_on) = oneshot::channel();
    let locks = a.scope(async move {
        let told: Result<(), _> = may_go_on.await;
        told.unwrap();
        taken_here().await
    });
    (go_on, locks)
}

pub(crate) async fn other_tasks_of_the_thread_keep_their_client(store: &dyn TestStore) {
    let [a, b] = two(store);
    let thread = store.thread(move || {
        let runtime = Builder::new_current_thread().build().unwrap();
        // Tasks that were spawned before: one in a scope, one without a client.
        let (go_on, locks) = neighbour(&a);
        let theirs = runtime.spawn(locks);
        let (told, may_ask) = oneshot::channel::<()>();
        let alone = runtime.spawn(async move {
            may_ask.await.unwrap();
            none();
        });
        let inside = async {
            go_on.send(()).unwrap();
            told.send(()).unwrap();
            (taken_here().await, theirs.await.unwrap(), alone.await)
        };
        let (ours, theirs, alone) = b.blocking_scope(|| runtime.block_on(inside));
        assert_eq!((ours.as_str(), theirs.as_str()), (ON_B, ON_A));
        alone.unwrap();
        // The same in a `LocalSet`.
        let local = LocalSet::new();
        let (go_on, locks) = neighbour(&a);
        let theirs = local.spawn_local(locks);
        let inside = b.scope(async {
            go_on.send(()).unwrap();
            (taken_here().await, theirs.await.unwrap())
        });
        let (ours, theirs) = a.blocking_scope(|| local.block_on(&runtime, inside));
        assert_eq!((ours.as_str(), theirs.as_str()), (ON_B, ON_A));
    });
    thread.await.unwrap();
}

pub(crate) async fn futures_of_one_task_keep_their_clients(store: &dyn TestStore) {
    let [a, b] = two(store);
    let mut all: FuturesUnordered<_> = [(&a, ON_A), (&b, ON_B), (&a, ON_A), (&b, ON_B)]
        .into_iter()
        .map(|(client, on)| client.scope(async move { (taken_here().await, on) }))
        .collect();
    while let Some((taken, on)) = soon("the next one", all.next()).await {
        assert_eq!(taken, on);
        none();
    }
}

pub(crate) async fn a_scoped_future_is_dropped_in_its_scope(store: &dyn TestStore) {
    struct Asks(std::sync::mpsc::Sender<String>);
    impl Drop for Asks {
        fn drop(&mut self) {
            self.0.send(taken_on_this_thread()).unwrap();
        }
    }
    let [a, b] = two(store);
    let (asks, names) = std::sync::mpsc::channel();
    let waits = async |asks: Asks| {
        std::future::pending::<()>().await;
        drop(asks);
    };
    let body = a.scope(async {
        let mut cancelled = Box::pin(b.scope(waits(Asks(asks.clone()))));
        assert!(futures::poll!(&mut cancelled).is_pending());
        drop(cancelled);
        // A future that was never polled is dropped there, too.
        let unused = Asks(asks);
        drop(b.scope(async move { drop(unused) }));
    });
    body.await;
    assert_eq!(names.iter().collect::<Vec<_>>(), ["b:m", "b:m"]);
}

/// Destructors of thread-locals may make calls, even after those of the library have run.
pub(crate) async fn a_thread_that_ends_keeps_its_scope(store: &dyn TestStore) {
    struct Asks(Client, std::sync::mpsc::Sender<String>);
    impl Drop for Asks {
        fn drop(&mut self) {
            let name = self.0.blocking_scope(taken_on_this_thread);
            self.1.send(name).unwrap();
        }
    }
    thread_local! {
        static ASKS: std::cell::OnceCell<Asks> = const { std::cell::OnceCell::new() };
    }
    let [a, b] = two(store);
    let (asks, names) = std::sync::mpsc::channel();
    let thread = store.thread(move || {
        // It is set before the first call on this thread, and therefore dropped after whatever that call sets.
        ASKS.with(|cell| assert!(cell.set(Asks(b, asks)).is_ok()));
        a.blocking_scope(|| drop(Mutex::new("m").blocking_lock().unwrap()));
    });
    thread.await.unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["b:m"]);
}

pub(crate) async fn block_on_inside_a_scope_has_its_client(store: &dyn TestStore) {
    let [a, b] = two(store);
    let thread = store.thread(move || {
        let run = || {
            let runtime = Builder::new_current_thread().build().unwrap();
            runtime.block_on(taken_here())
        };
        a.blocking_scope(|| {
            assert_eq!(run(), ON_A);
            assert_eq!(block_on(taken_here()), ON_A);
            // The innermost scope applies, and ends with its closure.
            assert_eq!(b.blocking_scope(run), ON_B);
            assert_eq!(block_on(b.scope(taken_here())), ON_B);
            assert_eq!(run(), ON_A);
            let panics = || b.blocking_scope(|| panic!("meant"));
            let panicked: Result<(), _> = catch_unwind(AssertUnwindSafe(panics));
            assert!(panicked.is_err());
            assert_eq!(run(), ON_A);
        });
        none();
    });
    thread.await.unwrap();
}
