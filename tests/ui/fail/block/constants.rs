//! Code in a constant has no lock.
use auto_mutex::{auto_mutex, no_auto_mutex};

struct Ledger(u8);

#[auto_mutex]
impl Ledger {
    const CLOSE: fn(&Self) -> u8 = |ledger| ledger.0;

    const OPEN: [fn() -> u8; 2] = [|| 1, {
        fn open() -> u8 { 2 }
        open
    }];

    /// These have none.
    const FLAGS: u8 = 1 | 2;
    const BOTH: bool = Self::FLAGS > 1 || Self::FLAGS == 0;
    const NEXT: fn(u8) -> Self = Ledger;
}

#[auto_mutex]
trait Close {
    const CLOSE: fn(u8) -> u8 = if Self::BOTH { |n| n } else { u8::reverse_bits };
    const BOTH: bool;

    /// This runs nothing.
    #[no_auto_mutex]
    const PAGES: u8 = 1;
}
