//! `#[async_trait]` with our attributes, in either order: the lock covers the whole call, not the creation of its
//! future.

use std::sync::Arc;

use async_trait::async_trait;
use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

use crate::support::{Witness, named_client, scoped_on, together};

#[async_trait]
trait Book: Send + Sync {
    async fn write(&self, n: u32) -> Result<u32, LockError>;

    async fn plain(&self) -> Result<String, LockError>;

    #[auto_mutex(guard = g)]
    async fn default(&self, (a, mut b): (u32, u32)) -> Result<String, LockError> {
        b += a;
        Ok(format!("{} {b}", g.name()))
    }
}

struct Inner(Witness);

/// The attribute is on the method, below `#[async_trait]`.
#[async_trait]
impl Book for Inner {
    #[auto_mutex(name = "x", key = "{n}", block = 10)]
    async fn write(&self, n: u32) -> Result<u32, LockError> {
        self.0.visit().await;
        Ok(n)
    }

    #[auto_mutex(guard = g)]
    async fn plain(&self) -> Result<String, LockError> {
        Ok(g.name().to_owned())
    }
}

struct Above(Witness);

/// The attribute is on the block, above `#[async_trait]`.
#[auto_mutex(block = 10, guard = g)]
#[async_trait]
impl Book for Above {
    async fn write(&self, n: u32) -> Result<u32, LockError> {
        self.0.visit().await;
        Ok(n)
    }

    async fn plain(&self) -> Result<String, LockError> {
        Ok(g.name().to_owned())
    }
}

struct Below(Witness);

/// The attribute is on the block, below `#[async_trait]`: it sees methods that are already boxed.
#[async_trait]
#[auto_mutex(block = 10, guard = g)]
impl Book for Below {
    async fn write(&self, n: u32) -> Result<u32, LockError> {
        self.0.visit().await;
        Ok(n)
    }

    async fn plain(&self) -> Result<String, LockError> {
        Ok(g.name().to_owned())
    }

    #[no_auto_mutex]
    async fn default(&self, (a, b): (u32, u32)) -> Result<String, LockError> {
        Ok(format!("unprotected {a} {b}"))
    }
}

#[async_trait(?Send)]
trait Local {
    #[auto_mutex(name = "x")]
    async fn local(&self, not_send: std::rc::Rc<u32>) -> Result<u32, LockError> {
        tokio::task::yield_now().await;
        Ok(*not_send)
    }
}

impl Local for Inner {}

#[test]
fn calls_exclude_each_other() {
    fn write(book: impl Book + 'static) -> impl Future<Output = Result<(), LockError>> + Send {
        let book: Arc<dyn Book> = Arc::new(book);
        async move {
            assert_eq!(book.write(7).await?, 7);
            Ok(())
        }
    }
    assert_eq!(together(|witness| write(Inner(witness))), 1);
    assert_eq!(together(|witness| write(Above(witness))), 1);
    assert_eq!(together(|witness| write(Below(witness))), 1);
}

#[test]
fn names_are_those_of_the_type() {
    let witness = Witness::default;
    scoped_on(&named_client(), async {
        assert_eq!(
            Inner(witness()).plain().await.unwrap(),
            "t:auto-mutex-tests:Inner:plain"
        );
        assert_eq!(
            Above(witness()).plain().await.unwrap(),
            "t:auto-mutex-tests:Above:plain"
        );
        assert_eq!(
            Below(witness()).plain().await.unwrap(),
            "t:auto-mutex-tests:Below:plain"
        );
        assert_eq!(
            Inner(witness()).default((1, 2)).await.unwrap(),
            "t:auto-mutex-tests:Inner:default 3"
        );
        let book: &dyn Book = &Below(witness());
        assert_eq!(book.default((1, 2)).await.unwrap(), "unprotected 1 2");
    });
}

#[test]
fn a_future_that_is_not_send_is_locked() {
    let inner = Inner(Witness::default());
    let call = inner.local(std::rc::Rc::new(3));
    assert_eq!(scoped_on(&named_client(), call).unwrap(), 3);
}
