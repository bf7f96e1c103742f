//! `Self::busy` is the type's own function, not the one of the block.
use auto_mutex::auto_mutex;

struct Ledger;

impl Ledger {
    fn busy(&self, month: u32) -> u32 { month + 1 }
}

trait Book {
    fn write(&self, month: u32) -> u32;
    fn busy(&self, month: u32) -> u32;
}

#[auto_mutex(on_timeout = Self::busy, on_error = |_| 6)]
impl Book for Ledger {
    fn write(&self, month: u32) -> u32 { month }
    fn busy(&self, month: u32) -> u32 { month + 2 }
}
