//! What is imported only for the functions of a block counts as used.
#![deny(warnings)]
#![forbid(unsafe_code)]
#![allow(missing_docs, unreachable_pub)]

use auto_mutex::{LockError, auto_mutex, no_auto_mutex};

struct Ledger;

#[auto_mutex::auto_mutex(expire = 10)]
impl Ledger {
    #[auto_mutex(expire = 20)]
    fn close(&self) -> Result<u32, LockError> {
        Ok(self.plain())
    }

    #[no_auto_mutex]
    fn plain(&self) -> u32 {
        1
    }

    #[auto_mutex::no_auto_mutex]
    fn other(&self) -> u32 {
        2
    }
}

fn main() {
    let client = auto_mutex::Client::connect("memory://").unwrap();
    assert_eq!(
        client.blocking_scope(|| Ledger.close()).unwrap() + Ledger.other(),
        3
    );
}
