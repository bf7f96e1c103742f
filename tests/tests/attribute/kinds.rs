//! Every kind of function that can carry the attribute excludes its own calls.

#![allow(
    clippy::manual_async_fn,
    reason = "functions that return a future are what is tried"
)]

use std::future::Future;
use std::sync::Arc;

use auto_mutex::{LockError, auto_mutex};
use futures::future::{BoxFuture, LocalBoxFuture};

use crate::support::{Witness, blocking_together, scoped, together};

#[auto_mutex]
fn free(witness: &Witness) -> Result<(), LockError> {
    witness.blocking_visit();
    Ok(())
}

#[auto_mutex]
async fn free_async(witness: Witness) -> Result<(), LockError> {
    witness.visit().await;
    Ok(())
}

#[auto_mutex]
fn future(witness: Witness) -> impl Future<Output = Result<(), LockError>> + Send {
    async move {
        witness.visit().await;
        Ok(())
    }
}

#[auto_mutex]
fn box_future<'a>(witness: Witness) -> BoxFuture<'a, Result<(), LockError>> {
    Box::pin(async move {
        witness.visit().await;
        Ok(())
    })
}

#[auto_mutex]
fn local_box_future(witness: &Witness) -> LocalBoxFuture<'_, Result<(), LockError>> {
    let not_send = std::rc::Rc::new(());
    Box::pin(async move {
        witness.visit().await;
        drop(not_send);
        Ok(())
    })
}

#[derive(Clone, Default)]
struct Ledger {
    witness: Witness,
}

trait Book {
    fn witness(&self) -> &Witness;

    fn write(&self) -> Result<(), LockError>;

    fn written(&self) -> impl Future<Output = Result<(), LockError>> + Send;

    #[auto_mutex]
    fn default_write(&self) -> Result<(), LockError> {
        self.witness().blocking_visit();
        Ok(())
    }

    #[auto_mutex]
    fn default_written(&self) -> impl Future<Output = Result<(), LockError>> + Send
    where
        Self: Sync,
    {
        async {
            self.witness().visit().await;
            Ok(())
        }
    }
}

impl Book for Ledger {
    fn witness(&self) -> &Witness {
        &self.witness
    }

    #[auto_mutex]
    fn write(&self) -> Result<(), LockError> {
        self.witness.blocking_visit();
        Ok(())
    }

    #[auto_mutex]
    async fn written(&self) -> Result<(), LockError> {
        self.witness.visit().await;
        Ok(())
    }
}

impl Ledger {
    #[auto_mutex]
    fn method(&self) -> Result<(), LockError> {
        self.witness.blocking_visit();
        Ok(())
    }

    #[auto_mutex]
    async fn shared(self: Arc<Self>) -> Result<(), LockError> {
        self.witness.visit().await;
        Ok(())
    }
}

fn ledger(witness: &Witness) -> Ledger {
    Ledger {
        witness: witness.clone(),
    }
}

#[test]
fn without_the_attribute_bodies_do_overlap() {
    let witness = Witness::default();
    scoped(async {
        tokio::join!(witness.visit(), witness.visit());
    });
    assert_eq!(witness.most(), 2);
}

#[test]
fn sync_functions() {
    assert_eq!(blocking_together(free), 1);
    assert_eq!(blocking_together(|witness| ledger(witness).method()), 1);
    assert_eq!(blocking_together(|witness| ledger(witness).write()), 1);
    assert_eq!(
        blocking_together(|witness| ledger(witness).default_write()),
        1
    );
}

#[test]
fn async_functions() {
    assert_eq!(together(free_async), 1);
    assert_eq!(together(|witness| Arc::new(Ledger { witness }).shared()), 1);
    assert_eq!(
        together(|witness| async move { ledger(&witness).written().await }),
        1
    );
    assert_eq!(
        together(|witness| async move { ledger(&witness).default_written().await }),
        1
    );
}

#[test]
fn functions_that_return_a_future() {
    assert_eq!(together(future), 1);
    assert_eq!(together(box_future), 1);
}

#[test]
fn a_future_that_stays_on_its_thread() {
    let witness = Witness::default();
    scoped(async {
        let (one, two) = tokio::join!(local_box_future(&witness), local_box_future(&witness));
        one.unwrap();
        two.unwrap();
    });
    assert_eq!((witness.calls(), witness.most()), (2, 1));
}
