//! Functions that cannot be protected, and attributes that are too many.
use auto_mutex::{LockError, auto_mutex, auto_mutex as locked, no_auto_mutex};

type Out = Result<(), LockError>;

struct Ledger;

trait Book {
    #[auto_mutex] fn bodiless(&self, month: u32) -> Out;
}

#[auto_mutex] const fn cannot_wait() -> Out { Ok(()) }
#[auto_mutex] extern "C" fn callback() -> Out { Ok(()) }

#[auto_mutex]
unsafe extern "C" {
    fn foreign();
}

/// The runtime's attribute comes first: without it, main is still async here.
#[auto_mutex] #[tokio::main] async fn main() -> Out { Ok(()) }
#[auto_mutex] #[tokio::test] async fn test() -> Out { Ok(()) }

/// There is nothing to be left out of.
#[no_auto_mutex] fn outside() {}

#[auto_mutex(expire = 10)] #[auto_mutex(block = 10)] fn twice() -> Out { Ok(()) }

#[auto_mutex]
#[auto_mutex]
impl Ledger {
    fn close(&self) -> Out { Ok(()) }
}

/// Also where the second goes by another name.
#[auto_mutex]
impl Ledger {
    #[locked(expire = 10)] fn renamed(&self) -> Out { Ok(()) }
    #[locked(expire = 10)] async fn renamed_async(&self) -> Out { Ok(()) }
}
