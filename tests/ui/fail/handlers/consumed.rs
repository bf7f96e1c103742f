//! In an async function `on_error` also answers a loss, after a part of the body has run: what the body consumed is gone.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(on_error = |_, name| Ok(name))]
async fn close(name: String) -> Result<String, LockError> {
    Ok(name)
}

#[auto_mutex(on_error = |_| Ok(name))]
async fn open(name: String) -> Result<String, LockError> {
    Ok(name)
}

fn main() {
    let _ = (close(String::new()), open(String::new()));
}
