//! What runs after the call would run without the lock.
use std::future::Future;
use std::pin::Pin;

use auto_mutex::{LockError, auto_mutex};
use futures::stream::{BoxStream, Stream};

#[auto_mutex]
fn in_result() -> Result<impl Future<Output = u32>, LockError> {
    Ok(async { 1 })
}

#[auto_mutex]
async fn boxed() -> Result<Pin<Box<dyn Future<Output = u32> + Send>>, LockError> {
    Ok(Box::pin(async { 1 }))
}

#[auto_mutex(on_timeout = panic, on_error = panic)]
fn stream() -> impl Stream<Item = u32> {
    futures::stream::iter([1])
}

#[auto_mutex]
fn boxed_stream() -> Result<(u32, BoxStream<'static, u32>), LockError> {
    Ok((1, Box::pin(futures::stream::iter([1]))))
}

fn main() {
    let _ = (in_result(), boxed(), stream(), boxed_stream());
}
