//! `auto_mutex::current` and `assert_held!` in annotated functions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use auto_mutex::{LockError, assert_held};
use auto_mutex::{auto_leader, auto_mutex, auto_read, auto_semaphore, auto_write};

use crate::support::{client, scoped};

/// What `assert_held!` says.
fn complaint(check: impl FnOnce()) -> Option<String> {
    let failed = catch_unwind(AssertUnwindSafe(check)).err()?;
    Some(*failed.downcast::<String>().expect("a text"))
}

#[test]
fn assert_held_finds_the_lock_in_bodies_of_all_kinds() {
    type Done = Result<(), LockError>;
    fn helper(name: &str) {
        assert_held!(name);
        let other = complaint(|| assert_held!("other"));
        assert!(
            other
                .unwrap()
                .starts_with("`other` is not held here, only ")
        );
    }
    #[auto_mutex(ns = "n", name = "m", key = key)]
    async fn mutex(key: &str) -> Done {
        tokio::task::yield_now().await;
        assert_held!("m:{key}");
        assert_held!("n:m:{}", key);
        // What a body calls finds all locks around it.
        read()?;
        assert!(complaint(|| assert_held!("r")).is_some());
        assert!(complaint(|| assert_held!("m")).is_some());
        // Of names, only whole parts count.
        assert!(complaint(|| assert_held!(":m:{key}")).is_some());
        let (client, inside) = (auto_mutex::client()?, "h".to_owned());
        client
            .mutex(&*inside)
            .synchronize(async |_| helper(&inside))
            .await?;
        let elsewhere = tokio::task::spawn_blocking(|| complaint(|| assert_held!("h")));
        let said = elsewhere.await.expect("a task").expect("a panic");
        assert_eq!(said, "`h` is not held here: no lock is");
        Ok(())
    }
    #[auto_read(ns = "n", name = "r")]
    fn read() -> Done {
        ["r", "m:a b", "n:m:a%20b"].into_iter().for_each(helper);
        Ok(())
    }
    #[auto_write(ns = "n", name = "w")]
    fn write() -> Done {
        helper("w");
        Ok(())
    }
    #[auto_semaphore(ns = "n", name = "s", permits = 2)]
    fn permit() -> Done {
        helper("s");
        write()
    }
    #[auto_mutex(ns = "n", name = "k", keys = keys)]
    fn several(keys: [u32; 2]) -> Done {
        helper("k:1");
        helper("k:2");
        permit()
    }
    #[auto_leader(ns = "n", name = "l")]
    async fn lead() -> Done {
        helper("l");
        mutex("a b").await
    }
    client().blocking_scope(|| several([2, 1])).unwrap();
    scoped(lead()).unwrap();
    // A guard counts for its task if its handle is reentrant.
    let handle = client().mutex("g");
    for (handle, counts) in [(handle.clone(), false), (handle.reentrant(), true)] {
        let guard = handle.blocking_lock().unwrap();
        assert_eq!(complaint(|| assert_held!("g")).is_none(), counts);
        drop(guard);
        assert!(complaint(|| assert_held!("g")).is_some());
    }
}

#[test]
fn assert_held_fails_once_the_lock_is_lost() {
    #[auto_mutex(name = "lost")]
    fn close() -> Result<Option<String>, LockError> {
        assert_held!("lost");
        assert!(
            auto_mutex::client()?
                .mutex("lost")
                .blocking_force_unlock()?
        );
        while auto_mutex::current().is_ok() {
            std::thread::yield_now();
        }
        Ok(complaint(|| assert_held!("lost")))
    }
    let said = client().blocking_scope(close).unwrap().unwrap();
    assert!(
        said.starts_with("`lost` is no longer held here: lock `lost` lost"),
        "{said}"
    );
}
