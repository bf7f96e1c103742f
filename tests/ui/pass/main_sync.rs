//! With the runtime's attribute above, main is sync where the lock is taken; a client of one's own is set up before.
#![allow(missing_docs, unreachable_pub)]
use std::sync::LazyLock;

use auto_mutex::{Client, LockError, auto_mutex};

static CLIENT: LazyLock<Client> = LazyLock::new(|| Client::connect("memory://").unwrap());

#[tokio::main(flavor = "current_thread")]
#[auto_mutex(client = CLIENT)]
async fn main() -> Result<(), LockError> {
    tokio::task::yield_now().await;
    Ok(())
}

#[test]
fn runs() {
    main().unwrap();
}
