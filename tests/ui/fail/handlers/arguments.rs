//! `on_timeout` gets the function's own arguments.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;

impl Ledger {
    #[auto_mutex(on_timeout = Self::busy)]
    fn close(&self, month: u32) -> Result<(), LockError> {
        let _ = month;
        Ok(())
    }

    fn busy(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex(on_timeout = Self::late)]
    async fn open(&self, month: u32) -> Result<(), LockError> {
        let _ = month;
        Ok(())
    }

    async fn late(&self, month: &str) -> Result<(), LockError> {
        let _ = month;
        Ok(())
    }
}

#[auto_mutex(on_error = failed)]
fn other() -> Result<(), LockError> {
    Ok(())
}

fn failed() -> Result<(), LockError> {
    Ok(())
}

fn main() {
    let _ = (Ledger.close(1), Ledger.busy(), Ledger.open(1), Ledger.late("1"), other(), failed());
}
