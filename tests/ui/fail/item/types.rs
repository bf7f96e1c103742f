//! Only functions and blocks of them can be locked; the items are still there.
use auto_mutex::auto_mutex;

#[auto_mutex]
struct Ledger {
    n: u32,
}

#[auto_mutex]
#[derive(Debug)]
enum Entry {
    Credit,
}

#[auto_mutex]
union Bits {
    n: u32,
}

#[auto_mutex]
mod billing {
    pub const RATE: u32 = 3;
}

#[auto_mutex]
const LIMIT: u32 = 10;

#[auto_mutex]
type Amount = u32;

#[auto_mutex]
use std::fmt::Debug;

#[auto_mutex]
static START: u32 = 1;
