//! A handler that is the annotated function itself, or may be it.
use auto_mutex::{LockError, auto_mutex};

mod jobs {
    #[auto_mutex::auto_mutex(on_timeout = tidy)] pub fn tidy() -> Result<u32, auto_mutex::LockError> { Ok(1) }

    #[auto_mutex::auto_mutex(on_timeout = crate::handlers::itself::jobs::sweep)]
    pub fn sweep() -> Result<u32, auto_mutex::LockError> { Ok(1) }
}

struct Ledger;

trait Book {
    fn write(&self) -> Result<u32, LockError>;
}

impl Book for Ledger {
    #[auto_mutex(on_timeout = <Self as Book>::write)] fn write(&self) -> Result<u32, LockError> { Ok(1) }
}

impl Ledger {
    #[auto_mutex(on_timeout = crate::handlers::itself::Ledger::close)] fn close(&self) -> Result<u32, LockError> { Ok(1) }

    /// A single word is a function of the module.
    #[auto_mutex(on_timeout = open)] fn open(&self) -> Result<u32, LockError> { Ok(1) }
}

fn open(_: &Ledger) -> Result<u32, LockError> { Ok(2) }
