//! The lock order of annotated functions: their labels are templates, and `order = "…"` allows an intended order.

use auto_mutex::{LockError, OrderEdge, auto_mutex, auto_read, auto_semaphore, auto_write, sites};

use crate::support::{client, scoped_on};

type Then = Result<(), LockError>;

#[auto_mutex(name = "ordered:ledger", key = "{month}")]
fn ledger(month: u32, then: impl FnOnce() -> Then) -> Then {
    let _ = month;
    then()
}

#[auto_mutex(name = "ordered:account", key = "{id}")]
async fn account(id: u32, then: impl AsyncFnOnce() -> Then) -> Then {
    let _ = id;
    tokio::task::yield_now().await;
    then().await
}

#[auto_semaphore(name = "ordered:pool", permits = 2, order = "a pool")]
fn pool() -> Then {
    Ok(())
}

#[auto_read(name = "ordered:book", order = "a reader")]
fn read_book() -> Then {
    Ok(())
}

#[auto_write(name = "ordered:page", order = "a writer")]
fn write_page() -> Then {
    Ok(())
}

struct Block;

#[auto_mutex(order = "of the block")]
impl Block {
    fn inherits(&self) -> Then {
        Ok(())
    }
}

trait Handle {
    fn handle(&self, then: impl FnOnce() -> Then) -> Then;

    #[auto_mutex]
    fn by_default(&self, then: impl FnOnce() -> Then) -> Then {
        then()
    }
}

#[auto_mutex]
trait HandleAll {
    fn of_block(&self, then: impl FnOnce() -> Then) -> Then {
        then()
    }
}

/// A decorator of the services below: each call asks the next service.
struct Layer;
struct Service;

macro_rules! handle {
    ($ty:ty) => {
        impl Handle for $ty {
            #[auto_mutex]
            fn handle(&self, then: impl FnOnce() -> Then) -> Then {
                then()
            }
        }
        impl HandleAll for $ty {}
    };
}
handle!(Layer);
handle!(Service);

fn named(edges: &[OrderEdge]) -> Vec<(String, Option<&str>)> {
    let named = |edge: &OrderEdge| format!("{} > {}", edge.before.label, edge.after.label);
    edges
        .iter()
        .map(|edge| (named(edge), edge.allowed.as_deref()))
        .collect()
}

fn line_of(function: &str) -> u32 {
    let found = sites().into_iter().find(|site| site.function() == function);
    found.expect("a site").line()
}

#[test]
fn a_label_is_the_template_of_the_names() {
    let client = client();
    let call = |month| {
        ledger(month, || {
            scoped_on(&client, account(month + 5, async || Ok(())))
        })
    };
    client
        .blocking_scope(|| call(1).and_then(|()| call(2)))
        .unwrap();
    let edges = client.lock_order();
    let expected = "ordered:ledger:{month} > ordered:account:{id}".to_owned();
    assert_eq!(named(&edges), [(expected, None)]);
    assert_eq!(
        (&*edges[0].before.file, &*edges[0].after.file),
        (file!(), file!())
    );
    assert_eq!(edges[0].before.line, line_of("ledger"));
    assert_eq!(edges[0].after.line, line_of("account"));
    client.assert_lock_order();
}

#[test]
fn every_attribute_and_a_block_take_the_option() {
    let client = client();
    let inside = || {
        pool()?;
        read_book()?;
        write_page()?;
        Block.inherits()
    };
    client.blocking_scope(|| ledger(1, inside)).unwrap();
    let edges = client.lock_order();
    let mut reasons: Vec<_> = edges
        .iter()
        .filter_map(|edge| edge.allowed.as_deref())
        .collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["a pool", "a reader", "a writer", "of the block"]);
}

#[test]
fn a_label_has_the_type_where_only_a_method_is_annotated() {
    let client = client();
    for _ in 0..2 {
        client
            .blocking_scope(|| Layer.handle(|| Service.handle(|| Ok(()))))
            .unwrap();
        client
            .blocking_scope(|| Layer.by_default(|| Service.by_default(|| Ok(()))))
            .unwrap();
        client
            .blocking_scope(|| Layer.of_block(|| Service.of_block(|| Ok(()))))
            .unwrap();
    }
    client.assert_lock_order();
    let edges = client.lock_order();
    let mut labels: Vec<_> = named(&edges).into_iter().map(|(edge, _)| edge).collect();
    labels.sort();
    let expected = ["by_default", "handle", "of_block"]
        .map(|f| format!("auto-mutex-tests:Layer:{f} > auto-mutex-tests:Service:{f}"));
    assert_eq!(labels, expected);
    // The opposite order of the types is a finding.
    client
        .blocking_scope(|| Service.handle(|| Layer.handle(|| Ok(()))))
        .unwrap();
    let edges = client.lock_order();
    assert_eq!(edges.iter().filter(|edge| edge.inverted).count(), 2);
}
