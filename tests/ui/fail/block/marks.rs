//! Marks that contradict each other or mean nothing.
use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

struct Ledger;

#[auto_mutex]
impl Ledger {
    #[auto_mutex]
    #[no_auto_mutex]
    fn both(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex(expire = 1)]
    #[auto_mutex(block = 1)]
    fn twice(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[no_auto_mutex(expire = 1)]
    fn with_options(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex(explicit)]
    fn for_blocks(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex = "close"]
    fn value(&self) -> Result<(), LockError> {
        Ok(())
    }
}

trait Book {
    fn close(&self);
}

#[auto_mutex(exprie = 1)]
impl Book for Ledger {
    fn close(&self) {}
}

fn main() {
    let _ = (Ledger.both(), Ledger.twice(), Ledger.with_options(), Ledger.for_blocks(), Ledger.value(), Ledger.close());
}
