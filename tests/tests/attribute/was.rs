//! `was`: a rename that is safe while the old version still runs.

use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_tests::stores::TestStore;

use crate::support::client;

fn prod() -> Client {
    let config = auto_mutex::Config::new("memory://").unwrap();
    Client::connect(config.namespace("prod")).unwrap()
}

type Names = Result<Vec<String>, LockError>;

fn with(client: &Client, call: fn() -> Names) -> Vec<String> {
    client.blocking_scope(call).expect("the locks")
}

#[test]
fn keys_have_both_names_each() {
    #[auto_mutex(ns = "n", name = "new", was = "o:old", keys = [2, 1], guard = g)]
    fn both() -> Names {
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
    fn odd() -> Names {
        Ok(g.names().map(str::to_owned).collect())
    }
    // If the old name equals the new one, there is one lock.
    #[auto_mutex(ns = "n", name = "new", was = "n:new", guard = g)]
    fn same() -> Names {
        Ok(g.names().map(str::to_owned).collect())
    }
    let prod = prod();
    assert_eq!(with(&prod, odd), ["my%20ns:old:%7Bx%7D", "n:new"]);
    assert_eq!(with(&prod, same), ["n:new"]);
}

/// A rolling deploy from a version whose names have no package: `namespace:Type:function`.
pub(crate) async fn a_process_of_the_former_names_excludes_a_new_one(store: &dyn TestStore) {
    struct Ledger;
    impl Ledger {
        #[auto_mutex(was = "{namespace}:Ledger:close", key = month, guard = g, block = 0)]
        async fn close(&self, month: u32) -> Names {
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
    fn of_the_client() -> Names {
        Ok(g.names().map(str::to_owned).collect())
    }
    #[auto_mutex(namespace = "my ns", name = "new", was = "{namespace}:old", guard = g)]
    fn of_the_site() -> Names {
        Ok(g.names().map(str::to_owned).collect())
    }
    let prod = prod();
    assert_eq!(with(&prod, of_the_client), ["prod:new", "prod:old:x%20y"]);
    assert_eq!(with(&client(), of_the_client), ["new", "old:x%20y"]);
    assert_eq!(with(&prod, of_the_site), ["my%20ns:new", "my%20ns:old"]);
}

struct Account {
    id: &'static str,
}

impl Account {
    /// With placeholders, the old name is complete: the key is not appended.
    #[auto_mutex(name = "new", key = (n, self.id), was = "old:{n}-{{x}}:{self.id}:end", guard = g)]
    fn with_another_key(&self, n: u32) -> Names {
        let _ = n;
        Ok(g.names().map(str::to_owned).collect())
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
    fn each(a: u32, b: u32) -> Names {
        let _ = (a, b);
        Ok(g.names().map(str::to_owned).collect())
    }
    let names = client().blocking_scope(|| each(1, 2)).unwrap();
    assert_eq!(names, ["1", "new:1", "new:2"]);

    // A parameter of that name is a value, except at the beginning, where the lock's namespace takes precedence.
    #[auto_mutex(ns = "n", name = "new", was = "{namespace}:old:{namespace}", guard = g)]
    fn of_a_namespace(namespace: u32) -> Names {
        let _ = namespace;
        Ok(g.names().map(str::to_owned).collect())
    }
    let names = client().blocking_scope(|| of_a_namespace(5)).unwrap();
    assert_eq!(names, ["n:new", "n:old:5"]);
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
