//! Options only borrow the parameters.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(key = name.into_boxed_str())]
fn close(name: String) -> Result<String, LockError> {
    Ok(name)
}

fn main() {
    let _ = close(String::new());
}
