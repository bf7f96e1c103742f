//! Only the lock of a single holder is kept after a call.
use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore};

type Out = Result<(), LockError>;

#[auto_semaphore(permits = 2, retain = 1)] fn permit() -> Out { Ok(()) }
#[auto_read(retain = "1s")] fn reader() -> Out { Ok(()) }
#[auto_mutex(keys = [1, 2], retain = 1)] fn several() -> Out { Ok(()) }
#[auto_mutex(was = "old", retain = 1)] fn renamed() -> Out { Ok(()) }
#[auto_mutex(owner = "me", retain = 1)] fn owned() -> Out { Ok(()) }
#[auto_mutex(retain = "soon")] fn no_length() -> Out { Ok(()) }

struct Ledger;

#[auto_mutex(retain = 1)]
impl Ledger {
    #[auto_semaphore(permits = 2, retain = 1)] fn permit(&self) -> Out { Ok(()) }
}
