//! A future inside another type, under a name that does not say so.
use std::future::{Future, Ready, ready};
use std::pin::Pin;

use auto_mutex::{LockError, auto_mutex};
use tokio::task::JoinHandle;

type Later = Pin<Box<dyn Future<Output = u32> + Send>>;
type Outcome<T> = Result<T, LockError>;

#[auto_mutex]
fn in_result() -> Result<Later, LockError> {
    Ok(Box::pin(ready(1)))
}

#[auto_mutex]
fn in_alias() -> Outcome<Option<Ready<u32>>> {
    Ok(Some(ready(1)))
}

#[auto_mutex]
fn generic<F: Future>(future: F) -> Result<Box<F>, LockError> {
    Ok(Box::new(future))
}

#[auto_mutex]
async fn spawned() -> Result<JoinHandle<u32>, LockError> {
    Ok(tokio::spawn(ready(1)))
}

#[auto_mutex(on_timeout = panic, on_error = panic)]
async fn bare() -> Later {
    Box::pin(ready(1))
}

fn main() {
    let _ = (in_result(), in_alias(), generic(ready(1)), spawned(), bare());
}
