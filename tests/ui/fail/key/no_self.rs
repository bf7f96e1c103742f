//! There is no `self` in a free function, nor in an associated one.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(key = self.id)]
fn free() -> Result<(), LockError> {
    Ok(())
}

struct Ledger;

impl Ledger {
    #[auto_mutex(key = (id, self.name()))]
    fn associated(id: u32) -> Result<(), LockError> {
        let _ = id;
        Ok(())
    }
}

fn main() {
    let _ = (free(), Ledger::associated(1));
}
