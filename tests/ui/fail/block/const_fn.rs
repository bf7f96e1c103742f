//! A const fn in a block must be left out.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;

#[auto_mutex]
impl Ledger {
    const fn new() -> Self {
        Ledger
    }

    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }
}

fn main() {
    let _ = Ledger::new().close();
}
