//! What runs after the call would run without the lock.
use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::rc::Rc;

use auto_mutex::{LockError, auto_mutex};
use tokio::task::JoinHandle;

type Outcome<T> = Result<T, LockError>;
type Later = Pin<Box<dyn Future<Output = u32> + Send>>;
type Boxed = Pin<Box<dyn Future<Output = Outcome<u32>>>>;

trait Stream {
    type Item;
}

struct Empty;

impl Stream for Empty {
    type Item = u32;
}

type BoxStream<'a, T> = Pin<Box<dyn Stream<Item = T> + Send + 'a>>;

#[auto_mutex] fn in_result() -> Outcome<impl Future<Output = u32>> { Ok(async { 1 }) }
#[auto_mutex] async fn boxed() -> Outcome<Pin<Box<dyn Future<Output = u32> + Send>>> { Ok(Box::pin(async { 1 })) }
#[auto_mutex(on_timeout = panic, on_error = panic)] fn stream() -> impl Stream<Item = u32> { Empty }
#[auto_mutex] fn boxed_stream() -> Outcome<(u32, BoxStream<'static, u32>)> { Ok((1, Box::pin(Empty))) }

/// Under another name.
#[auto_mutex] fn alias() -> Boxed { Box::pin(ready(Ok(1))) }
#[auto_mutex(on_timeout = || ready(0), on_error = |_| ready(0))] fn named() -> Ready<u32> { ready(1) }

/// Inside another type, under a name that does not say so.
#[auto_mutex] fn alias_in_result() -> Outcome<Later> { Ok(Box::pin(ready(1))) }
#[auto_mutex] fn in_option() -> Outcome<Option<Ready<u32>>> { Ok(Some(ready(1))) }
#[auto_mutex] fn generic<F: Future>(future: F) -> Outcome<Box<F>> { Ok(Box::new(future)) }
#[auto_mutex] async fn spawned() -> Outcome<JoinHandle<u32>> { Ok(tokio::spawn(ready(1))) }
#[auto_mutex(on_timeout = panic, on_error = panic)] async fn bare() -> Later { Box::pin(ready(1)) }

/// The future of a body that is not `Send`.
#[auto_mutex]
async fn not_send() -> Outcome<()> {
    let month = Rc::new(5);
    std::future::ready(()).await;
    drop(month);
    Ok(())
}

fn spawns() { is_send(not_send()); }
fn is_send(_: impl Send) {}
