//! Every kind of function that can carry the attribute excludes its own calls.

use std::future::Future;
use std::pin::Pin;
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
fn boxed(witness: Witness) -> Pin<Box<dyn Future<Output = Result<(), LockError>> + Send>> {
    Box::pin(async move {
        witness.visit().await;
        Ok(())
    })
}

#[auto_mutex]
fn box_future<'a>(witness: Witness) -> BoxFuture<'a, Result<(), LockError>> {
    Box::pin(async move {
        witness.visit().await;
        Ok(())
    })
}

#[auto_mutex]
fn made(witness: Witness) -> impl Future<Output = Result<(), LockError>> {
    let inner = witness.clone();
    async move {
        inner.visit().await;
        Ok(())
    }
}

#[auto_mutex]
fn made_early(
    early: bool,
    witness: Witness,
) -> Pin<Box<dyn Future<Output = Result<(), LockError>> + Send>> {
    if early {
        return Box::pin(async move {
            witness.visit().await;
            Ok(())
        });
    }
    Box::pin(std::future::ready(Ok(())))
}

#[auto_mutex]
fn made_local<'a>(witness: &'a Witness) -> LocalBoxFuture<'a, Result<(), LockError>> {
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
    fn write(&self) -> Result<(), LockError>;
    fn default_write(&self) -> Result<(), LockError>;
    fn written(&self) -> impl Future<Output = Result<(), LockError>> + Send;
}

impl Ledger {
    #[auto_mutex]
    fn associated(witness: &Witness) -> Result<(), LockError> {
        witness.blocking_visit();
        Ok(())
    }

    #[auto_mutex]
    fn method(&self) -> Result<(), LockError> {
        self.witness.blocking_visit();
        Ok(())
    }

    #[auto_mutex]
    async fn method_async(&self) -> Result<(), LockError> {
        self.witness.visit().await;
        Ok(())
    }

    #[auto_mutex]
    async fn shared(self: Arc<Self>) -> Result<(), LockError> {
        self.witness.visit().await;
        Ok(())
    }
}

#[test]
fn sync_functions() {
    assert_eq!(blocking_together(free), 1);
    assert_eq!(blocking_together(Ledger::associated), 1);
    assert_eq!(
        blocking_together(|witness| Ledger {
            witness: witness.clone()
        }
        .method()),
        1
    );
}

#[test]
fn async_functions() {
    assert_eq!(together(free_async), 1);
    assert_eq!(
        together(|witness| async move { Ledger { witness }.method_async().await }),
        1
    );
    assert_eq!(together(|witness| Arc::new(Ledger { witness }).shared()), 1);
}

#[test]
fn functions_that_return_a_future() {
    assert_eq!(together(future), 1);
    assert_eq!(together(boxed), 1);
    assert_eq!(together(box_future), 1);
    assert_eq!(together(made), 1);
    assert_eq!(together(|witness| made_early(true, witness)), 1);
}

#[test]
fn a_future_that_stays_on_its_thread() {
    let witness = Witness::default();
    scoped(async {
        let (one, two) = tokio::join!(made_local(&witness), made_local(&witness));
        one.unwrap();
        two.unwrap();
    });
    assert_eq!((witness.calls(), witness.most()), (2, 1));
}
