//! `client` is a client.
use auto_mutex::{LockError, auto_mutex};

struct Ledger {
    url: String,
}

impl Ledger {
    #[auto_mutex(client = self.url)]
    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }
}

fn main() {
    let _ = Ledger { url: String::new() }.close();
}
