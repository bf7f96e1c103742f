//! What is no handler.
use auto_mutex::{LockError, auto_mutex};

fn busy() -> Result<u32, LockError> {
    Ok(0)
}

#[auto_mutex(on_timeout = busy())]
fn call() -> Result<u32, LockError> {
    Ok(1)
}

#[auto_mutex(on_timeout = "busy")]
fn text() -> Result<u32, LockError> {
    Ok(1)
}

struct Ledger;

impl Ledger {
    #[auto_mutex(on_timeout = self.busy)]
    fn field(&self) -> Result<u32, LockError> {
        Ok(1)
    }
}

fn main() {
    let _ = (call(), text(), Ledger.field(), busy());
}
