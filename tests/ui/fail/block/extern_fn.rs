//! An extern function in a block must be left out.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;

#[auto_mutex(on_timeout = panic, on_error = panic)]
impl Ledger {
    extern "C" fn called_from_c(n: u32) -> u32 {
        n
    }

    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }
}

fn main() {
    let _ = (Ledger::called_from_c(1), Ledger.close());
}
