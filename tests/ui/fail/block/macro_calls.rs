//! The block cannot see what a macro makes.
use auto_mutex::{LockError, auto_mutex, auto_read, no_auto_mutex};

macro_rules! functions {
    () => {
        fn close(&self) -> Result<(), LockError> { Ok(()) }
    };
}

struct Ledger;

#[auto_mutex]
impl Ledger {
    functions!();

    /// Nor what is in another file.
    #[cfg(any())]
    include!("functions.rs");
}

trait Close {
    fn close(&self) -> Result<(), LockError>;
}

#[auto_read]
impl Close for Ledger {
    functions! {}
}

#[auto_mutex(expire = 10)]
trait Closing {
    functions![];
}

/// Nor does the block know whether there is a lock.
#[auto_mutex]
impl Closing for Ledger {
    #[cfg_attr(any(), no_auto_mutex)]
    functions!();
}
