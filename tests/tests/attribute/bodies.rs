//! Bodies may contain any code, and the lock is released however a body ends.

use auto_mutex::{LockError, auto_mutex};

use crate::support::{named_client, scoped_on};

#[test]
fn an_early_return_releases() {
    #[auto_mutex(name = "b")]
    fn sync(early: bool) -> Result<u32, LockError> {
        if early {
            return Ok(1);
        }
        Ok(2)
    }
    #[auto_mutex(name = "b")]
    async fn future(early: bool) -> Result<u32, LockError> {
        if early {
            return Ok(1);
        }
        Ok(2)
    }
    #[auto_mutex(name = "b")]
    fn fails() -> Result<u32, Box<dyn std::error::Error>> {
        let n: u32 = "x".parse()?;
        Ok(n)
    }
    let client = named_client();
    let free = || !client.mutex("b").blocking_is_locked().unwrap();
    client.blocking_scope(|| {
        assert_eq!((sync(true).unwrap(), sync(false).unwrap()), (1, 2));
        assert!(free());
        assert_eq!(
            fails().unwrap_err().to_string(),
            "invalid digit found in string"
        );
        assert!(free());
    });
    assert_eq!(
        scoped_on(&client, async {
            (future(true).await.unwrap(), future(false).await.unwrap())
        }),
        (1, 2)
    );
    assert!(free());
}

#[test]
fn a_parameter_may_be_borrowed_mutably() {
    #[allow(clippy::toplevel_ref_arg)]
    #[auto_mutex(name = "b")]
    async fn future(ref mut list: Vec<u32>, (_, ref mut b): (u32, u32)) -> Result<u32, LockError> {
        *b += 1;
        list.push(*b);
        Ok(list.iter().sum())
    }
    let client = named_client();
    let sum = scoped_on(&client, future(vec![1], (2, 3)));
    assert_eq!(sum.unwrap(), 5);
}

#[test]
fn a_panic_releases_and_goes_on() {
    #[auto_mutex(name = "b")]
    fn sync() -> Result<u32, LockError> {
        panic!("in the body")
    }
    #[auto_mutex(name = "b")]
    async fn future() -> Result<u32, LockError> {
        tokio::task::yield_now().await;
        panic!("in the body")
    }
    let client = named_client();
    let call = std::panic::AssertUnwindSafe(|| client.blocking_scope(sync));
    std::panic::catch_unwind(call).expect_err("panics");
    assert!(!client.mutex("b").blocking_is_locked().unwrap());
    scoped_on(&client, async {
        tokio::spawn(client.scope(future()))
            .await
            .expect_err("panics");
    });
    assert!(!client.mutex("b").blocking_is_locked().unwrap());
}

/// The body's locals are dropped before the lock is released.
#[test]
fn the_lock_outlives_everything_in_the_body() {
    struct Checks(auto_mutex::Client);

    impl Drop for Checks {
        fn drop(&mut self) {
            assert!(self.0.mutex("b").blocking_is_locked().unwrap());
        }
    }

    #[auto_mutex(name = "b")]
    fn sync(client: auto_mutex::Client) -> Result<u32, LockError> {
        let _checks = Checks(client);
        Ok(1)
    }
    #[auto_mutex(name = "b")]
    async fn future(client: auto_mutex::Client) -> Result<u32, LockError> {
        let _checks = Checks(client);
        tokio::task::yield_now().await;
        Ok(1)
    }
    #[auto_mutex(name = "b", on_timeout = |_client| Ok(2))]
    async fn apart(client: auto_mutex::Client) -> Result<u32, LockError> {
        let _checks = Checks(client);
        tokio::task::yield_now().await;
        Ok(1)
    }
    let client = named_client();
    assert_eq!(client.blocking_scope(|| sync(client.clone())).unwrap(), 1);
    assert_eq!(scoped_on(&client, future(client.clone())).unwrap(), 1);
    assert_eq!(scoped_on(&client, apart(client.clone())).unwrap(), 1);
}

/// Documented: a parameter that the body has not moved is dropped after the body, when the lock has been released.
#[test]
fn a_parameter_is_dropped_under_the_lock_if_the_body_owns_it() {
    struct Looks<'a>(&'a auto_mutex::Client, &'a std::cell::Cell<Option<bool>>);
    impl Drop for Looks<'_> {
        fn drop(&mut self) {
            let locked = self.0.mutex("b").blocking_is_locked();
            self.1.set(Some(locked.expect("memory")));
        }
    }
    #[auto_mutex(name = "b")]
    fn kept(looks: Looks<'_>) -> Result<(), LockError> {
        assert!(looks.1.get().is_none());
        Ok(())
    }
    #[auto_mutex(name = "b")]
    fn consumed(looks: Looks<'_>) -> Result<(), LockError> {
        let looks = looks;
        assert!(looks.1.get().is_none());
        Ok(())
    }
    let client = named_client();
    let seen = std::cell::Cell::new(None);
    client
        .blocking_scope(|| kept(Looks(&client, &seen)))
        .unwrap();
    assert_eq!(seen.take(), Some(false));
    client
        .blocking_scope(|| consumed(Looks(&client, &seen)))
        .unwrap();
    assert_eq!(seen.take(), Some(true));
}
