//! Functions of a block that cannot be protected, or not with the block's options.
use auto_mutex::{LockError, auto_mutex};

type Out = Result<(), LockError>;

struct Ledger;

#[auto_mutex]
trait Book {
    #[auto_mutex(expire = 10)] fn marked_without_a_body(&self) -> Out;
    fn open(&self) -> Out;
}

#[auto_mutex]
impl Ledger {
    const fn new() -> Self { Ledger }
    fn close(&self) -> Out { Ok(()) }
}

#[auto_mutex(on_timeout = panic, on_error = panic)]
impl Ledger {
    extern "C" fn called_from_c(n: u32) -> u32 { n }
    fn reopen(&self) -> Out { Ok(()) }
}

#[auto_mutex(key = "{month}", block = "1x")]
impl Ledger {
    fn has_the_key(&self, month: u32) -> Out { Ok(()) }
    fn open(&self) -> Out { Ok(()) }
}
