//! Everything that is wrong is said at once.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(expire = 0, blok = 1, key = "{idd}", on_timeout = |a, b| Ok(a), on_error = || Ok(1), on_lost = cancel)]
const fn close(id: u32) -> Result<u32, LockError> {
    Ok(id)
}

fn main() {
    let _ = close(1);
}
