//! A future is `Send` and `'static` exactly where the body's is, in every form of the expansion.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::non_minimal_cfg,
    clippy::manual_async_fn
)]

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use auto_mutex::{Client, LockError, auto_mutex};

struct Ledger {
    locks: Client,
    name: String,
}

impl Ledger {
    #[auto_mutex(guard = g, on_lost = finish, client = self.locks)]
    async fn guarded(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        g.refresh(Duration::from_secs(9)).await?;
        Ok(g.fencing_token())
    }

    #[auto_mutex(expire = self.expire().await, key = (n, self.name.len()), on_timeout = Self::late, on_error = failed)]
    async fn handled(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        Ok(1)
    }

    #[auto_mutex(on_timeout = async |n| self.late(n).await, on_error = |error, _, n| async move { pause(n).await; Err(error) })]
    async fn closures(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        Ok(1)
    }

    async fn expire(&self) -> Duration {
        pause(&1).await;
        Duration::from_secs(5)
    }

    async fn late(&self, n: &u32) -> Result<u64, LockError> {
        pause(n).await;
        Ok(self.name.len() as u64)
    }
}

#[auto_mutex(on_timeout = all)]
fn conditional(#[cfg(any())] nothing: Nothing, #[cfg(all())] n: u32) -> Result<u32, LockError> {
    Ok(n)
}

fn all(n: u32) -> Result<u32, LockError> {
    Ok(n)
}

async fn failed(error: LockError) -> Result<u64, LockError> {
    pause(&1).await;
    Err(error)
}

async fn pause(n: &u32) {
    for _ in 0..*n {
        std::future::ready(()).await;
    }
}

#[auto_mutex(on_timeout = skip)]
async fn owned(name: String) -> Result<String, LockError> {
    pause(&1).await;
    Ok(name)
}

/// These parameters are `Send`, but not `Sync`: the body must own them, not borrow them across an await.
struct NotSync {
    cell: Cell<u32>,
    job: Box<dyn FnOnce() -> u32 + Send>,
}

impl NotSync {
    #[auto_mutex(key = self.cell.get())]
    async fn by_value(mut self) -> Result<u32, LockError> {
        pause(&1).await;
        self.cell = Cell::new(self.cell.get() + 1);
        pause(&1).await;
        Ok(self.cell.get() + (self.job)())
    }

    #[auto_mutex(on_timeout = Self::busy, on_error = Self::failed)]
    async fn by_mut(&mut self, other: Cell<u32>) -> Result<u32, LockError> {
        pause(&1).await;
        self.cell.set(self.cell.get() + other.get());
        Ok(self.cell.get())
    }

    async fn busy(&mut self, other: Cell<u32>) -> Result<u32, LockError> {
        pause(&1).await;
        Ok(self.cell.get() + other.get())
    }

    async fn failed(error: LockError) -> Result<u32, LockError> {
        pause(&1).await;
        Err(error)
    }
}

#[auto_mutex(keys = [first.get(), 2], was = "t:old", on_error = |error| Err(error))]
async fn receives(rx: Receiver<u32>, first: Cell<u32>) -> Result<u32, LockError> {
    pause(&1).await;
    Ok(rx.recv().unwrap_or_default() + first.get())
}

#[auto_mutex(guard = g, on_lost = finish, on_timeout = |_, _| Ok(None), on_error = |_, value, _| Ok(Some(value)))]
async fn generic<T: Send>(
    value: T,
    (left, right): (Cell<u32>, u32),
) -> Result<Option<T>, LockError> {
    pause(&1).await;
    g.check()?;
    Ok((left.get() < right).then_some(value))
}

/// What the closure uses is borrowed, and everything else moved.
#[auto_mutex(on_error = |error| Err(format!("{error}{name}{months:?}{}", other.len()).into()))]
async fn answered(
    name: String,
    months: &[u32],
    other: Vec<u32>,
) -> Result<usize, Box<dyn std::error::Error + Send + Sync>> {
    pause(&1).await;
    Ok(name.len() + months.len() + other.len())
}

/// The letters of a text are no use of a parameter, whatever they are.
#[auto_mutex(on_error = |error| Err(match error.to_string().as_str() {
    "{rx}" | "rx" => concat!("rx", " {{rx}}").to_owned(),
    text => format!("rx {{rx}} {text:5}"),
}.into()))]
async fn told(rx: Receiver<u32>) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
    pause(&1).await;
    Ok(rx.recv()?)
}

#[auto_mutex]
fn block(value: Cell<u32>) -> impl Future<Output = Result<u32, LockError>> + Send {
    async move {
        pause(&1).await;
        Ok(value.get())
    }
}

#[auto_mutex]
fn boxed(value: Cell<u32>) -> Pin<Box<dyn Future<Output = Result<u32, LockError>> + Send>> {
    Box::pin(async move {
        pause(&1).await;
        Ok(value.get())
    })
}

#[test]
fn runs() {
    fn is_send<T: Send>(future: T) -> T {
        future
    }
    fn is_static<T: Send + 'static>(future: T) -> T {
        future
    }

    let client = Client::connect("memory://").unwrap();
    let ledger = Ledger {
        locks: client.clone(),
        name: "a".to_owned(),
    };
    futures::executor::block_on(client.scope(is_send(async {
        assert!(is_send(ledger.guarded(&1)).await.unwrap() > 0);
        assert_eq!(is_send(ledger.handled(&1)).await.unwrap(), 1);
        assert_eq!(is_send(ledger.closures(&1)).await.unwrap(), 1);
        assert_eq!(is_static(owned("b".to_owned())).await.unwrap(), "b");
        let mut not_sync = NotSync {
            cell: Cell::new(1),
            job: Box::new(|| 2),
        };
        assert_eq!(is_send(not_sync.by_mut(Cell::new(4))).await.unwrap(), 5);
        assert_eq!(is_static(not_sync.by_value()).await.unwrap(), 8);
        let (tx, rx) = channel();
        tx.send(6).unwrap();
        assert_eq!(is_static(receives(rx, Cell::new(1))).await.unwrap(), 7);
        let pair = (Cell::new(1), 2);
        let generic = is_static(generic(Cell::new(8), pair)).await.unwrap();
        assert_eq!(generic.map(Cell::into_inner), Some(8));
        let answered = is_send(answered("ab".to_owned(), &[1], vec![1, 2]));
        assert_eq!(answered.await.unwrap(), 5);
        let (tx, rx) = channel();
        tx.send(7).unwrap();
        assert_eq!(is_static(told(rx)).await.unwrap(), 7);
        assert_eq!(is_static(block(Cell::new(3))).await.unwrap(), 3);
        assert_eq!(is_static(boxed(Cell::new(4))).await.unwrap(), 4);
    })));
    assert_eq!(client.blocking_scope(|| conditional(1)).unwrap(), 1);
}
