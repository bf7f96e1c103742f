//! `keys`: several locks at once, all or none.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::{LockError, MultiGuard, auto_mutex};
use auto_mutex_tests::events::{becomes, soon};
use auto_mutex_tests::stores::TestStore;

use crate::support::{client, named_client, scoped};

type Names = Result<Vec<String>, LockError>;

/// Returns the names without their common prefix.
fn names(guard: &MultiGuard) -> Names {
    let bare = |name: &str| name.strip_prefix("n:k:").unwrap_or(name).to_owned();
    Ok(guard.names().map(bare).collect())
}

struct Order {
    from: u32,
    to: u32,
}

#[test]
fn a_list_has_a_key_for_each_element() {
    #[auto_mutex(ns = "n", name = "k", guard = g,
        keys = [order.to, "fixed", (order.from, "x"), "{order.to}:{n}-th", "a{{b", order.to])]
    fn list(order: &Order, n: u32) -> Names {
        let _ = (order.from, n);
        names(g)
    }
    let order = Order { from: 1, to: 2 };
    let names = client().blocking_scope(|| list(&order, 3)).unwrap();
    assert_eq!(names, ["1:x", "2", "2:3-th", "a%7Bb", "fixed"]);
}

#[test]
fn an_expression_is_iterated_over() {
    #[auto_mutex(ns = "n", name = "k", keys = ids, guard = g)]
    fn slice(ids: &[&str]) -> Names {
        assert!(!ids.is_empty());
        names(g)
    }
    #[auto_mutex(ns = "n", name = "k", keys = ids, guard = g)]
    fn owned<T: Display>(ids: Vec<T>) -> Names {
        drop(ids);
        names(g)
    }
    #[auto_mutex(ns = "n", name = "k", keys = &ids, guard = g)]
    fn set(ids: BTreeSet<char>) -> Names {
        drop(ids);
        names(g)
    }
    #[auto_mutex(ns = "n", name = "k", keys = orders.iter().flat_map(|order| [order.from, order.to]), guard = g)]
    fn fields(orders: Vec<Order>) -> Names {
        drop(orders);
        names(g)
    }
    struct Group {
        ids: [u8; 2],
    }
    impl Group {
        #[auto_mutex(ns = "n", name = "k", keys = self.ids, guard = g)]
        fn close(self) -> Names {
            names(g)
        }
    }
    client().blocking_scope(|| {
        assert_eq!(slice(&["b", "a:b", "b"]).unwrap(), ["a%3Ab", "b"]);
        assert_eq!(owned(vec![2, 1]).unwrap(), ["1", "2"]);
        assert_eq!(set(BTreeSet::from(['y', 'x'])).unwrap(), ["x", "y"]);
        let orders = vec![Order { from: 1, to: 2 }, Order { from: 2, to: 3 }];
        assert_eq!(fields(orders).unwrap(), ["1", "2", "3"]);
        assert_eq!(Group { ids: [9, 8] }.close().unwrap(), ["8", "9"]);
    });
}

#[test]
fn the_expression_may_await_and_the_future_stays_send() {
    async fn load(n: u32) -> Vec<u32> {
        tokio::task::yield_now().await;
        vec![n, n + 1]
    }
    struct NotSend(*const u8);
    impl Display for NotSend {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{}", self.0.is_null())
        }
    }
    #[auto_mutex(ns = "n", name = "k", keys = load(n).await, guard = g)]
    async fn awaited(n: u32) -> Names {
        tokio::task::yield_now().await;
        let _ = n;
        names(g)
    }
    #[auto_mutex(ns = "n", name = "k", keys = [NotSend(std::ptr::null()), n])]
    async fn around(n: u32) -> Result<u32, LockError> {
        tokio::task::yield_now().await;
        Ok(n)
    }
    let client = client();
    crate::support::scoped_on(&client, async {
        let names = tokio::spawn(client.scope(awaited(4))).await.unwrap();
        assert_eq!(names.unwrap(), ["4", "5"]);
        let n = tokio::spawn(client.scope(around(4))).await.unwrap();
        assert_eq!(n.unwrap(), 4);
    });
}

#[test]
fn no_keys_at_all_are_an_error() {
    #[auto_mutex(keys = ids)]
    fn close(ids: &[u32]) -> Result<(), LockError> {
        panic!("never gets here with {ids:?}")
    }
    let error = client().blocking_scope(|| close(&[])).unwrap_err();
    assert!(matches!(error, LockError::InvalidName { .. }), "{error}");
}

#[test]
fn a_display_that_fails_is_an_error() {
    struct Broken;
    impl Display for Broken {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            Err(std::fmt::Error)
        }
    }
    #[auto_mutex(keys = [1, Broken])]
    fn broken() -> Result<(), LockError> {
        panic!("never gets here")
    }
    let error = client().blocking_scope(broken).unwrap_err();
    assert!(matches!(error, LockError::InvalidName { .. }), "{error}");
}

#[auto_mutex(ns = "suite", name = "account", keys = [from, to], on_timeout = |_, _, _| Ok("busy"))]
async fn transfer(
    from: &str,
    to: &str,
    inside: impl AsyncFnOnce(),
) -> Result<&'static str, LockError> {
    inside().await;
    Ok("done")
}

#[auto_mutex(ns = "suite", name = "account", key = id, block = 0, on_timeout = |_, _| Ok("busy"))]
async fn look(id: &str, inside: impl AsyncFnOnce()) -> Result<&'static str, LockError> {
    inside().await;
    Ok("done")
}

pub(crate) async fn transfers_in_both_directions_all_end(store: &dyn TestStore) {
    let members = [store.member(), store.member()];
    let inside = AtomicU32::new(0);
    let transfers = (0..40).map(|i| {
        let (from, to) = if i % 2 == 0 { ("a", "b") } else { ("b", "a") };
        members[i % 2].scope(transfer(from, to, async || {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
            tokio::task::yield_now().await;
            inside.fetch_sub(1, Ordering::SeqCst);
        }))
    });
    let ended = soon("no deadlock", futures::future::join_all(transfers)).await;
    assert_eq!(ended.len(), 40);
    for end in ended {
        assert_eq!(end.expect("the locks"), "done");
    }
}

pub(crate) async fn all_of_them_are_held_or_none(store: &dyn TestStore) {
    let (client, other) = (store.member(), store.member());
    let call = transfer("a", "b", async || {
        for id in ["a", "b"] {
            let outside = other.scope(look(id, async || {})).await;
            assert_eq!(outside.expect("an answer"), "busy", "{id}");
        }
    });
    client.scope(call).await.expect("the locks");
    // While another client holds one of the two locks, the call waits for that lock.
    let held = other.mutex("account:b").lock().await.expect("the lock");
    let waiting = tokio::spawn(client.scope(transfer("a", "b", async || {})));
    becomes("it waits for b", async || {
        let info = other.mutex("account:b").info().await.expect("info");
        !info.waiters.is_empty()
    })
    .await;
    drop(held);
    soon("it gets both", waiting)
        .await
        .expect("no panic")
        .expect("the locks");
    for id in ["a", "b"] {
        becomes("they are free again", async || {
            !other
                .mutex(format!("account:{id}"))
                .is_locked()
                .await
                .expect("an answer")
        })
        .await;
    }
}

pub(crate) async fn the_loss_of_one_ends_the_body(store: &dyn TestStore) {
    let (client, breaker) = (store.member(), store.member());
    let call = client.scope(transfer("a", "b", async || {
        assert!(
            breaker
                .mutex("account:b")
                .force_unlock()
                .await
                .expect("an answer")
        );
        std::future::pending::<()>().await;
    }));
    let error = soon("the loss", call).await.expect_err("lost");
    assert!(matches!(error, LockError::Lost { .. }), "{error}");
    becomes("the other is released", async || {
        !breaker
            .mutex("account:a")
            .is_locked()
            .await
            .expect("an answer")
    })
    .await;
}

#[test]
fn nested_calls_re_enter_what_is_held() {
    #[auto_mutex(ns = "n", name = "k", keys = ids, block = 0, guard = g)]
    fn several(
        ids: &[u32],
        inside: impl FnOnce() -> Result<u64, LockError>,
    ) -> Result<u64, LockError> {
        let _ = ids;
        inside()?;
        Ok(g.fencing_token_of("n:k:2").unwrap_or_default())
    }
    #[auto_mutex(ns = "n", name = "k", key = id, block = 0, guard = g)]
    fn one(id: u32, inside: impl FnOnce() -> Result<u64, LockError>) -> Result<u64, LockError> {
        let _ = id;
        inside()?;
        Ok(g.fencing_token())
    }
    let client = client();
    let nothing = || Ok(0);
    client
        .blocking_scope(|| {
            several(&[2, 1], || {
                // Re-entered: the same locks, one of them, one of them with another lock, and one by a call for a single lock.
                let token = several(&[1, 2], nothing)?;
                assert_eq!(several(&[2], nothing)?, token);
                assert_eq!(several(&[2, 3], nothing)?, token);
                assert_eq!(one(2, nothing)?, token);
                Ok(token)
            })
        })
        .unwrap();
    // A call for several locks inside a call for one of them.
    client
        .blocking_scope(|| one(2, || several(&[1, 2, 3], || one(2, nothing))))
        .unwrap();
}

#[test]
fn retries_ask_for_all_of_them_again() {
    #[auto_mutex(ns = "t", name = "k", keys = [1, 2], retries = 2, interval = 0.001)]
    fn close() -> Result<(), LockError> {
        Ok(())
    }
    let client = named_client();
    let held = client.mutex("k:2").blocking_lock().unwrap();
    let error = client.blocking_scope(close).unwrap_err();
    assert!(
        matches!(error, LockError::TooManyAttempts { .. }),
        "{error}"
    );
    assert!(!client.mutex("k:1").blocking_is_locked().unwrap());
    drop(held);
    client.blocking_scope(close).unwrap();
}

#[test]
fn joined_calls_of_a_task_do_not_wait_for_each_other_for_ever() {
    scoped(async {
        let (first, second) = tokio::join!(
            transfer("a", "b", async || tokio::task::yield_now().await),
            transfer("b", "a", async || tokio::task::yield_now().await),
        );
        assert_eq!((first.unwrap(), second.unwrap()), ("done", "done"));
    });
}

#[test]
fn the_names_are_those_of_single_locks() {
    struct Bank;
    #[auto_mutex]
    impl Bank {
        #[auto_mutex(keys = [1, 2], guard = g)]
        fn both(&self) -> Names {
            names(g)
        }
    }
    let client = named_client();
    let names = client.blocking_scope(|| Bank.both()).unwrap();
    assert_eq!(
        names,
        [
            "t:auto-mutex-tests:Bank:both:1",
            "t:auto-mutex-tests:Bank:both:2"
        ]
    );
}
