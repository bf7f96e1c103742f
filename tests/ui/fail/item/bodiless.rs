//! A trait method without a body has nothing to protect.
use auto_mutex::{LockError, auto_mutex};

trait Book {
    #[auto_mutex]
    fn close(&self, month: u32) -> Result<(), LockError>;
}

fn main() {}
