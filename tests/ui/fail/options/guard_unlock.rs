//! The body has the guard to look at, not to give away.
use auto_mutex::{LockError, Mutex, auto_mutex, auto_semaphore, auto_write};

#[auto_mutex(guard = g)]
async fn close() -> Result<(), LockError> {
    g.unlock().await?;
    Ok(())
}

#[auto_semaphore(permits = 2, guard = permit)]
fn download() -> Result<u32, LockError> {
    permit.blocking_release()
}

#[auto_write(guard = g)]
async fn write() -> Result<(), LockError> {
    let reads = g.downgrade().await?;
    reads.check()
}

struct Ledger;

#[auto_mutex(guard = g)]
impl Ledger {
    fn open(&self) -> Result<bool, LockError> {
        g.blocking_unlock()
    }

    /// A guard of its own is another thing.
    async fn check(&self) -> Result<bool, LockError> {
        let g = Mutex::new("ledger").lock().await?;
        g.unlock().await
    }
}

fn main() {
    let _ = (close(), download(), write(), Ledger.open(), Ledger.check());
}
