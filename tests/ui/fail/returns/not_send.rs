//! The future of a body that is not `Send`.
use std::rc::Rc;

use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
async fn close() -> Result<(), LockError> {
    let month = Rc::new(5);
    std::future::ready(()).await;
    drop(month);
    Ok(())
}

fn main() {
    std::mem::drop(tokio::spawn(close()));
}
