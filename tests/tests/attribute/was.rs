//! `was`: a rename that is safe while the old version still runs.

use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::TestStore;

use crate::support::client;

/// The old version of the program.
mod old {
    use super::*;

    #[auto_mutex(ns = "suite", name = "Ledger:close", key = (month, "x"))]
    pub(super) async fn close(month: u32, inside: impl AsyncFnOnce()) -> Result<(), LockError> {
        let _ = month;
        inside().await;
        Ok(())
    }
}

/// The new version of the program.
#[auto_mutex(ns = "suite", name = "Book:finish", was = "suite:Ledger:close", key = (month, "x"), guard = g)]
async fn finish(month: u32, inside: impl AsyncFnOnce()) -> Result<Vec<String>, LockError> {
    let _ = month;
    inside().await;
    Ok(g.names().map(str::to_owned).collect())
}

pub(crate) async fn both_versions_exclude_each_other(store: &dyn TestStore) {
    let (new, old) = (store.member(), store.member());
    let inside = AtomicU32::new(0);
    let body = async || {
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
        tokio::task::yield_now().await;
        inside.fetch_sub(1, Ordering::SeqCst);
    };
    let calls = (0..20).map(|i| {
        let (new, old, body) = (&new, &old, &body);
        async move {
            if i % 2 == 0 {
                old.scope(old::close(5, body)).await
            } else {
                new.scope(finish(5, body)).await.map(drop)
            }
        }
    });
    for end in soon("all end", futures::future::join_all(calls)).await {
        end.expect("the locks");
    }
}

pub(crate) async fn both_names_are_held_with_the_key(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let names = client.scope(finish(5, async || {
        for name in ["Ledger:close:5:x", "Book:finish:5:x"] {
            assert!(
                other.mutex(name).is_locked().await.expect("an answer"),
                "{name}"
            );
        }
        // Another month is another lock, under the old name and under the new one.
        other.scope(old::close(6, async || {})).await.expect("free");
        other
            .scope(finish(7, async || {}))
            .await
            .map(drop)
            .expect("free");
    }));
    let names = soon("the call ends", names).await.expect("the locks");
    assert_eq!(names, ["suite:Book:finish:5:x", "suite:Ledger:close:5:x"]);
}

fn with(client: &Client, call: fn() -> Result<Vec<String>, LockError>) -> Vec<String> {
    client.blocking_scope(call).expect("the locks")
}

#[test]
fn keys_have_both_names_each() {
    #[auto_mutex(ns = "n", name = "new", was = "o:old", keys = [2, 1], guard = g)]
    fn both() -> Result<Vec<String>, LockError> {
        Ok(g.names().map(str::to_owned).collect())
    }
    assert_eq!(
        with(&client(), both),
        ["n:new:1", "n:new:2", "o:old:1", "o:old:2"]
    );
}

#[test]
fn the_old_name_is_complete_and_escaped() {
    #[auto_mutex(ns = "n", name = "new", was = "my ns:old:{{x}}", guard = g)]
    fn odd() -> Result<Vec<String>, LockError> {
        Ok(g.names().map(str::to_owned).collect())
    }
    // If the old name equals the new one, there is one lock.
    #[auto_mutex(ns = "n", name = "new", was = "n:new", guard = g)]
    fn same() -> Result<Vec<String>, LockError> {
        Ok(g.names().map(str::to_owned).collect())
    }
    let prod = auto_mutex::Config::new("memory://")
        .unwrap()
        .namespace("prod");
    let prod = Client::connect(prod).unwrap();
    assert_eq!(with(&prod, odd), ["my%20ns:old:%7Bx%7D", "n:new"]);
    assert_eq!(with(&prod, same), ["n:new"]);
}

/// A rolling deploy from a version whose names have no package: `namespace:Type:function`.
pub(crate) async fn a_process_of_the_former_names_excludes_a_new_one(store: &dyn TestStore) {
    struct Ledger;
    impl Ledger {
        #[auto_mutex(was = "{namespace}:Ledger:close", key = month, guard = g, block = 0)]
        async fn close(&self, month: u32) -> Result<Vec<String>, LockError> {
            let _ = month;
            Ok(g.names().map(str::to_owned).collect())
        }
    }
    let (new, old) = (store.member(), store.member());
    // The name of this lock in an old process. The handle stands for the old function.
    let held = old.mutex("Ledger:close:5").lock().await.expect("free");
    let refused = new.scope(Ledger.close(5)).await.expect_err("held");
    assert!(matches!(refused, LockError::Timeout { .. }), "{refused}");
    new.scope(Ledger.close(6)).await.expect("another lock");
    assert!(held.unlock().await.expect("an answer"), "held until now");
    let names = new.scope(Ledger.close(5)).await.expect("free");
    assert_eq!(
        names,
        [
            "suite:Ledger:close:5",
            "suite:auto-mutex-tests:Ledger:close:5"
        ]
    );
}

#[test]
fn the_namespace_of_an_old_name_is_that_of_the_lock() {
    #[auto_mutex(name = "new", was = "{namespace}:old:x y", guard = g)]
    fn of_the_client() -> Result<Vec<String>, LockError> {
        Ok(g.names().map(str::to_owned).collect())
    }
    #[auto_mutex(namespace = "my ns", name = "new", was = "{namespace}:old", guard = g)]
    fn of_the_site() -> Result<Vec<String>, LockError> {
        Ok(g.names().map(str::to_owned).collect())
    }
    let prod = auto_mutex::Config::new("memory://")
        .unwrap()
        .namespace("prod");
    let prod = Client::connect(prod).unwrap();
    assert_eq!(with(&prod, of_the_client), ["prod:new", "prod:old:x%20y"]);
    assert_eq!(with(&client(), of_the_client), ["new", "old:x%20y"]);
    assert_eq!(with(&prod, of_the_site), ["my%20ns:new", "my%20ns:old"]);
}

/// A value that must be escaped in a name.
const ODD: &str = "a:b {c}%ü";

struct Account {
    id: &'static str,
}

/// The old version of a type, before its rename.
mod before {
    use super::*;

    pub(super) struct Old(pub(super) &'static str);

    impl Old {
        #[auto_mutex(key = "{self.0}", guard = g)]
        pub(super) fn close(
            &self,
            inside: impl FnOnce() -> Result<Vec<String>, LockError>,
        ) -> Result<(String, Vec<String>), LockError> {
            Ok((g.name().to_owned(), inside()?))
        }
    }
}

impl Account {
    #[auto_mutex(was = "{namespace}:auto-mutex-tests:Old:close:{self.id}", guard = g, block = 0)]
    fn without_a_key(&self) -> Result<Vec<String>, LockError> {
        Ok(g.names().map(str::to_owned).collect())
    }

    /// With placeholders, the old name is complete: the key is not appended.
    #[auto_mutex(name = "new", key = (n, self.id), was = "old:{n}-{{x}}:{self.id}:end", guard = g)]
    fn with_another_key(&self, n: u32) -> Result<Vec<String>, LockError> {
        let _ = n;
        Ok(g.names().map(str::to_owned).collect())
    }
}

#[test]
fn a_renamed_function_with_a_key_excludes_the_old_one() {
    let prod = auto_mutex::Config::new("memory://")
        .unwrap()
        .namespace("my prod");
    let prod = Client::connect(prod).unwrap();
    for client in [prod, client()] {
        let account = Account { id: ODD };
        let other_task = || {
            std::thread::scope(|scope| {
                let call = || client.blocking_scope(|| account.without_a_key());
                scope.spawn(call).join().unwrap()
            })
        };
        let (old, names) = client
            .blocking_scope(|| before::Old("b").close(other_task))
            .unwrap();
        assert!(!names.contains(&old), "another value, {names:?}");
        let names = client.blocking_scope(|| account.without_a_key()).unwrap();
        client
            .blocking_scope(|| {
                before::Old(ODD).close(|| {
                    let refused = other_task().expect_err("the old name is held");
                    assert!(matches!(refused, LockError::Timeout { .. }), "{refused}");
                    Ok(Vec::new())
                })
            })
            .map(|(old, _)| assert!(names.contains(&old), "{old} is not among {names:?}"))
            .unwrap();
    }
}

#[test]
fn an_old_name_with_placeholders_is_complete() {
    let account = Account { id: "x:y" };
    let names = client()
        .blocking_scope(|| account.with_another_key(7))
        .unwrap();
    assert_eq!(names, ["new:7:x%3Ay", "old:7-%7Bx%7D:x%3Ay:end"]);

    #[auto_mutex(name = "new", keys = [a, b], was = "{namespace}:{a}", guard = g)]
    fn each(a: u32, b: u32) -> Result<Vec<String>, LockError> {
        let _ = (a, b);
        Ok(g.names().map(str::to_owned).collect())
    }
    let names = client().blocking_scope(|| each(1, 2)).unwrap();
    assert_eq!(names, ["1", "new:1", "new:2"]);

    // A parameter of that name is a value, except at the beginning, where the lock's namespace takes precedence.
    #[auto_mutex(ns = "n", name = "new", was = "{namespace}:old:{namespace}", guard = g)]
    fn of_a_namespace(namespace: u32) -> Result<Vec<String>, LockError> {
        let _ = namespace;
        Ok(g.names().map(str::to_owned).collect())
    }
    let names = client().blocking_scope(|| of_a_namespace(5)).unwrap();
    assert_eq!(names, ["n:new", "n:old:5"]);
}

#[test]
fn an_old_name_may_have_no_namespace() {
    #[auto_mutex(ns = "n", name = "new", was = "old", guard = g)]
    fn renamed() -> Result<Vec<String>, LockError> {
        Ok(g.names().map(str::to_owned).collect())
    }
    assert_eq!(with(&client(), renamed), ["n:new", "old"]);
}

#[test]
fn a_value_of_an_old_name_that_cannot_be_shown_is_an_error() {
    struct Broken;
    impl std::fmt::Display for Broken {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    #[auto_mutex(name = "new", was = "old:{broken}")]
    fn renamed(broken: Broken) -> Result<(), LockError> {
        let _ = broken;
        Ok(())
    }
    let refused = client().blocking_scope(|| renamed(Broken));
    assert!(
        matches!(refused, Err(LockError::InvalidName { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_nested_call_of_the_old_name_re_enters() {
    #[auto_mutex(ns = "n", name = "old", block = 0)]
    fn old() -> Result<u32, LockError> {
        Ok(1)
    }
    #[auto_mutex(ns = "n", name = "new", was = "n:old", block = 0)]
    fn new() -> Result<u32, LockError> {
        Ok(old()? + 1)
    }
    assert_eq!(client().blocking_scope(new).unwrap(), 2);
}
