//! Which client is in force in a scope, a task or a thread.

use auto_mutex::{LockError, Mutex};
use auto_mutex_tests::events::{finishes, soon};
use auto_mutex_tests::stores::TestStore;

pub(crate) async fn without_a_client_in_force_a_lock_is_not_set_up(_store: &dyn TestStore) {
    // No test of this program calls `setup`.
    assert!(matches!(auto_mutex::client(), Err(LockError::NotSetUp)));
    assert!(matches!(
        Mutex::new("m").lock().await,
        Err(LockError::NotSetUp)
    ));
    assert!(matches!(
        Mutex::new("m").try_lock().await,
        Err(LockError::NotSetUp)
    ));
    assert!(matches!(
        Mutex::new("m").info().await,
        Err(LockError::NotSetUp)
    ));
    assert!(matches!(
        Mutex::new("m").blocking_lock(),
        Err(LockError::NotSetUp)
    ));
}

pub(crate) async fn inside_a_scope_its_client_is_in_force(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let guard = client
        .scope(async {
            assert_eq!(auto_mutex::client().unwrap().namespace(), Some("suite"));
            Mutex::new("m").lock().await.unwrap()
        })
        .await;
    assert!(matches!(auto_mutex::client(), Err(LockError::NotSetUp)));
    // The guard does not need the scope.
    guard.check().unwrap();
    assert!(other.mutex("m").try_lock().await.unwrap().is_none());
    assert!(guard.unlock().await.unwrap());
}

pub(crate) async fn a_blocking_scope_ends_with_its_closure(store: &dyn TestStore) {
    let client = store.member();
    finishes("the scope", move || {
        client.blocking_scope(|| drop(Mutex::new("m").blocking_lock().unwrap()));
        assert!(matches!(auto_mutex::client(), Err(LockError::NotSetUp)));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            client.blocking_scope(|| panic!("meant"));
        }));
        assert!(panicked.is_err());
        assert!(matches!(auto_mutex::client(), Err(LockError::NotSetUp)));
    });
}

pub(crate) async fn scopes_nest_and_do_not_leak_to_other_tasks(store: &dyn TestStore) {
    let connect =
        |namespace: &str| auto_mutex::Client::connect(store.config().namespace(namespace)).unwrap();
    let (outer, inner) = (connect("outer"), connect("inner"));
    let in_force = || auto_mutex::client().map(|client| client.namespace().map(str::to_owned));
    outer
        .scope(async {
            let neighbour = tokio::spawn(async move { in_force().is_err() });
            inner
                .scope(async {
                    tokio::task::yield_now().await;
                    assert_eq!(in_force().unwrap().as_deref(), Some("inner"));
                })
                .await;
            assert_eq!(in_force().unwrap().as_deref(), Some("outer"));
            assert!(
                soon("the neighbour", neighbour).await.unwrap(),
                "a spawned task is outside"
            );
        })
        .await;
}

pub(crate) async fn a_spawned_task_is_given_the_client(store: &dyn TestStore) {
    fn spawns<T: Send + 'static>(future: T) -> T {
        future
    }
    let client = store.member();
    let (alone, given) = client
        .scope(async {
            let here = auto_mutex::client().unwrap();
            let lock = || async { Mutex::new("m").lock().await };
            (
                tokio::spawn(lock()),
                tokio::spawn(spawns(here.scope(lock()))),
            )
        })
        .await;
    let alone = soon("an answer", alone).await.unwrap();
    // The error message advises what to do.
    let error = alone.unwrap_err();
    assert!(matches!(error, LockError::NotSetUp), "{error:?}");
    assert!(
        error
            .to_string()
            .contains("tokio::spawn(client.scope(future))"),
        "{error}"
    );
    let guard = soon("an answer", given).await.unwrap().unwrap();
    assert_eq!(guard.name(), "suite:m");
    // A thread needs a scope too.
    drop(guard);
    let locked = move || client.blocking_scope(|| Mutex::new("m").blocking_lock().map(drop));
    finishes("the thread", move || locked().unwrap());
}
