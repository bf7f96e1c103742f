//! In a trait block a marked function needs a body.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
trait Book {
    #[auto_mutex(expire = 10)]
    fn close(&self) -> Result<(), LockError>;

    fn open(&self) -> Result<(), LockError>;
}

fn main() {}
