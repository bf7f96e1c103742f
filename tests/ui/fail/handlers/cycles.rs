//! A handler that calls the function it answers for.
use auto_mutex::{LockError, auto_mutex};

struct Ledger;

impl Ledger {
    #[auto_mutex(on_timeout = Self::close, on_error = <Self>::close)] fn close(&self) -> u32 { 1 }
}

/// The marked function has a lock, and the block's handlers too.
#[auto_mutex(on_timeout = Self::busy, on_error = crate::handlers::cycles::Ledger::failed)]
impl Ledger {
    fn open(&self) -> u32 { 1 }
    #[auto_mutex(expire = 10)] fn busy(&self) -> u32 { 2 }
    #[auto_mutex(on_timeout = skip)] fn failed(error: LockError) -> u32 { error.to_string().len() as u32 }
    #[auto_mutex(on_timeout = Ledger::own)] fn own(&self) -> u32 { 2 }
    #[auto_mutex(on_timeout = crate::handlers::cycles::Ledger::maybe)] fn maybe(&self) -> u32 { 2 }
}

/// So has a function that closures of the block call.
#[auto_mutex(on_timeout = |ledger, month| ledger.late(month), on_error = |_| Self::missed::<u8>())]
impl Ledger {
    fn look(&self, month: u32) -> u32 { month }
    fn late(&self, month: u32) -> u32 { month + 1 }
    #[auto_mutex(on_timeout = || self.again(month - 1))] fn again(&self, month: u32) -> u32 { month }
    #[auto_mutex(on_timeout = skip)] fn missed<T>() -> u32 { 2 }
}
