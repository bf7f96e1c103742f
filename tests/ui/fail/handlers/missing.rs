//! The function that answers is not there.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;

impl Ledger {
    #[auto_mutex(on_timeout = Self::bussy)]
    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }

    fn busy(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[auto_mutex(on_error = faild)]
fn open() -> Result<(), LockError> {
    Ok(())
}

fn failed(error: LockError) -> Result<(), LockError> {
    Err(error)
}

fn main() {
    let _ = (Ledger.close(), Ledger.busy(), open(), failed(LockError::NotSetUp));
}
