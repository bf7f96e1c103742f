//! An inherited key must suit every function that it is for.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;

#[auto_mutex(key = "{month}", block = "1x")]
impl Ledger {
    fn close(&self, month: u32) -> Result<u32, LockError> {
        Ok(month)
    }

    fn open(&self) -> Result<u32, LockError> {
        Ok(1)
    }
}

fn main() {
    let _ = (Ledger.close(1), Ledger.open());
}
