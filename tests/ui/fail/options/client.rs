//! `client` is a client.
use std::sync::Arc;

use auto_mutex::{LockError, auto_mutex};

struct Ledger {
    url: String,
    clients: Arc<Vec<auto_mutex::Client>>,
}

impl Ledger {
    #[auto_mutex(client = self.url)]
    fn close(&self) -> Result<(), LockError> {
        Ok(())
    }

    #[auto_mutex(client = &self.clients)]
    fn open(&self) -> Result<(), LockError> {
        Ok(())
    }
}

fn main() {
    let ledger = Ledger { url: String::new(), clients: Arc::new(Vec::new()) };
    let _ = (ledger.close(), ledger.open());
}
