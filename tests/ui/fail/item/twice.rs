//! One attribute carries all options.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(expire = 10)]
#[auto_mutex(block = 10)]
fn close() -> Result<(), LockError> {
    Ok(())
}

#[auto_mutex]
#[auto_mutex]
impl Ledger {
    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }
}

struct Ledger;

fn main() {
    let _ = (close(), Ledger.close());
}
