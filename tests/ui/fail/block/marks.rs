//! Marks that contradict each other or mean nothing.
use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

type Out = Result<(), LockError>;

struct Ledger;

#[auto_mutex]
impl Ledger {
    #[auto_mutex]
    #[no_auto_mutex]
    fn both(&self) -> Out { Ok(()) }

    #[auto_mutex(expire = 1)]
    #[auto_mutex(block = 1)]
    fn twice(&self) -> Out { Ok(()) }
    #[no_auto_mutex(expire = 1)] fn with_options(&self) -> Out { Ok(()) }
    #[auto_mutex(explicit)] fn for_blocks(&self) -> Out { Ok(()) }
    #[auto_mutex = "close"] fn value(&self) -> Out { Ok(()) }
}

trait Book {
    fn close(&self);
}

#[auto_mutex(exprie = 1)]
impl Book for Ledger {
    fn close(&self) {}
}
