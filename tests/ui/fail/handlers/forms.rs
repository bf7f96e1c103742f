//! What is no handler.
use auto_mutex::{LockError, auto_mutex};

fn busy() -> Result<u32, LockError> { Ok(0) }
#[auto_mutex(on_timeout = busy())] fn call() -> Result<u32, LockError> { Ok(1) }
#[auto_mutex(on_timeout = "busy")] fn text() -> Result<u32, LockError> { Ok(1) }
#[auto_mutex(on_timeout = None, on_error = None)] fn value() -> Option<u32> { Some(1) }
#[auto_mutex(on_error = eprintln!("failed"))] fn makes_a_value() {}
#[auto_mutex(on_error = failed(error))] fn call_with_error() -> Result<u32, LockError> { Ok(1) }

struct Ledger;

impl Ledger {
    #[auto_mutex(on_timeout = self.busy)] fn field(&self) -> Result<u32, LockError> { Ok(1) }
    #[auto_mutex(on_error = self.failed)] fn error_field(&self) -> Result<u32, LockError> { Ok(1) }
}
