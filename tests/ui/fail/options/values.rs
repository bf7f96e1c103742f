//! Options with values of another kind.
use std::sync::Arc;

use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore, auto_write};

type Out = Result<(), LockError>;

/// Where the runtime is said to be, it must be.
#[auto_mutex(crate = ::locks)] fn no_crate() -> Out { Ok(()) }
#[auto_mutex(crate = "auto_mutex")] fn no_path() -> Out { Ok(()) }

/// `order` takes a text that says why.
#[auto_mutex(order = "")] fn empty() -> Out { Ok(()) }
#[auto_semaphore(permits = 2, order = true)] fn no_text() -> Out { Ok(()) }
#[auto_read(order)] fn no_value() -> Out { Ok(()) }
#[auto_write(order = "one", order = "two")] fn twice() -> Out { Ok(()) }

/// `reentrant` is the same for every call.
#[auto_mutex(reentrant = maybe)] fn variable(maybe: bool) -> Out { Ok(()) }
#[auto_mutex(reentrant)] fn alone() -> Out { Ok(()) }
#[auto_semaphore(permits = 2, reentrant = 0)] fn number() -> Out { Ok(()) }
#[auto_mutex(reentrant = false, owner = "me")] fn owned() -> Out { Ok(()) }
#[auto_mutex(reentrent = false)] fn misspelt() -> Out { Ok(()) }

struct Ledger {
    url: String,
    clients: Arc<Vec<auto_mutex::Client>>,
}

impl Ledger {
    #[auto_mutex(client = self.url)] fn close(&self) -> Out { Ok(()) }
    #[auto_mutex(client = &self.clients)] fn open(&self) -> Out { Ok(()) }
}
