//! A closure takes no arguments or all of them.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;

impl Ledger {
    #[auto_mutex(on_timeout = |month| Ok(month))]
    fn close(&self, year: u32, month: u32) -> Result<u32, LockError> {
        Ok(year + month)
    }

    #[auto_mutex(on_error = || Ok(0))]
    fn open(&self) -> Result<u32, LockError> {
        Ok(1)
    }

    #[auto_mutex(on_error = |error, month| Err(error))]
    fn month(&self, year: u32, month: u32) -> Result<u32, LockError> {
        Ok(year + month)
    }
}

fn main() {
    let _ = (Ledger.close(1, 2), Ledger.open(), Ledger.month(1, 2));
}
