//! A block in which no function is protected.
use auto_mutex::{LockError, auto_mutex, auto_semaphore, no_auto_mutex};

type Out = Result<(), LockError>;

struct Ledger;

trait Job {
    fn run(&self) -> Out { Ok(()) }
}

/// The function that runs is the default one of the trait.
#[auto_mutex]
impl Job for Ledger {}

#[auto_mutex(expire = 10)]
impl Ledger {
    const PAGES: u32 = 1;
}

#[auto_mutex]
impl Ledger {
    #[no_auto_mutex] fn pages(&self) -> u32 { Self::PAGES }
}

#[auto_mutex(explicit, expire = 10)]
impl Ledger {
    fn read(&self) -> Out { Ok(()) }
}

#[auto_semaphore(permits = 5)]
trait Close {
    fn close(&self) -> Out;
}

#[auto_mutex(on_timeout = Self::busy, on_error = panic)]
impl Ledger {
    fn busy(&self) {}
}
