//! A future under another name: locking only its making would protect nothing.
use std::future::{Future, Ready, ready};
use std::pin::Pin;

use auto_mutex::{LockError, auto_mutex};

type Boxed = Pin<Box<dyn Future<Output = Result<u32, LockError>>>>;

#[auto_mutex]
fn alias() -> Boxed {
    Box::pin(ready(Ok(1)))
}

#[auto_mutex(on_timeout = || ready(0), on_error = |_| ready(0))]
fn named() -> Ready<u32> {
    ready(1)
}

fn main() {
    let _ = (alias(), named());
}
