//! `keys`: several locks at once, all or none.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::{LockError, MultiGuard, auto_mutex};
use auto_mutex_tests::events::soon;
use auto_mutex_tests::stores::TestStore;

use crate::support::client;

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
    #[auto_mutex(ns = "n", name = "k", keys = orders.iter().flat_map(|order| [order.from, order.to]), guard = g)]
    fn fields(orders: Vec<Order>) -> Names {
        drop(orders);
        names(g)
    }
    client().blocking_scope(|| {
        assert_eq!(slice(&["b", "a:b", "b"]).unwrap(), ["a%3Ab", "b"]);
        assert_eq!(owned(vec![2, 1]).unwrap(), ["1", "2"]);
        let orders = vec![Order { from: 1, to: 2 }, Order { from: 2, to: 3 }];
        assert_eq!(fields(orders).unwrap(), ["1", "2", "3"]);
    });
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
