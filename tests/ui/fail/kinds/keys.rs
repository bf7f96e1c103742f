//! Several keys: a list that is not empty, or something to iterate over.
use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore};

type Out = Result<(), LockError>;

#[auto_mutex(keys = [])] fn empty() -> Out { Ok(()) }
#[auto_mutex(keys = &[])] fn empty_slice() -> Out { Ok(()) }
#[auto_mutex(keys = (from, to))] fn tuple(from: u32, to: u32) -> Out { Ok(()) }
#[auto_mutex(keys = ())] fn unit() -> Out { Ok(()) }
#[auto_mutex(keys = "{from}")] fn text(from: u32) -> Out { Ok(()) }
#[auto_mutex(keys = [from, ()])] fn unit_inside(from: u32) -> Out { Ok(()) }
#[auto_mutex(keys = ["{form}", ""])] fn templates(from: u32) -> Out { Ok(()) }
#[auto_mutex(keys = ["{self.id}"])] fn no_self() -> Out { Ok(()) }
#[auto_mutex(key = a, keys = [a, b])] fn both(a: u32, b: u32) -> Out { Ok(()) }
#[auto_semaphore(permits = 2, keys = [a])] fn semaphore(a: u32) -> Out { Ok(()) }
#[auto_read(keys = [a])] fn read(a: u32) -> Out { Ok(()) }

struct Ledger;

#[auto_mutex(keys = ["{from}", "{to}"])]
impl Ledger {
    fn inherited(&self, from: u32) -> Out { Ok(()) }
}
