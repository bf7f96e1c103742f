//! Also where the second goes by another name.
use auto_mutex::{LockError, auto_mutex, auto_mutex as locked};

struct Ledger;

#[auto_mutex]
impl Ledger {
    #[locked(expire = 10)]
    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[locked(expire = 10)]
    async fn open(&self) -> Result<(), LockError> {
        Ok(())
    }
}

fn main() {
    let _ = (Ledger.close(), Ledger.open());
}
