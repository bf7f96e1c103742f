//! The block cannot see through `cfg_attr`.
use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

type Out = Result<(), LockError>;

struct Ledger;

#[auto_mutex]
impl Ledger {
    #[cfg_attr(all(), auto_mutex(expire = 10))] fn close(&self) -> Out { Ok(()) }
    #[cfg_attr(any(), no_auto_mutex)] fn open(&self) -> Out { Ok(()) }
}

#[auto_mutex(explicit, key = 1)]
impl Ledger {
    #[cfg_attr(all(), cfg_attr(all(), auto_mutex(expire = 10)))] fn within(&self) -> Out { Ok(()) }
}
