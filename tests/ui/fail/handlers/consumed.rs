//! `on_error` also answers a loss, when the body has run: what the body consumed is gone.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(on_error = |_, name| Ok(name))]
async fn close(name: String) -> Result<String, LockError> {
    Ok(name)
}

fn main() {
    let _ = close(String::new());
}
