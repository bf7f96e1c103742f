//! A block in which no function is protected.
use auto_mutex::{LockError, auto_mutex, auto_semaphore, no_auto_mutex};

struct Ledger;

trait Job {
    fn run(&self) -> Result<(), LockError> {
        Ok(())
    }
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
    #[no_auto_mutex]
    fn pages(&self) -> u32 {
        Self::PAGES
    }
}

#[auto_mutex(explicit, expire = 10)]
impl Ledger {
    fn read(&self) -> Result<(), LockError> {
        Ok(())
    }
}

#[auto_semaphore(permits = 5)]
trait Close {
    fn close(&self) -> Result<(), LockError>;
}

#[auto_mutex(on_timeout = Self::busy, on_error = panic)]
impl Ledger {
    fn busy(&self) {}
}

fn main() {
    let _ = (Ledger.pages(), Ledger.read(), Ledger.busy(), Ledger.run());
}
