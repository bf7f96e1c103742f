//! Readers run together, writers alone: the methods of one type share one lock.
//!
//! `cargo run --example readers_writer`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use auto_mutex::{LockError, auto_read, auto_write};
use auto_mutex_examples::store;
use tokio::time::sleep;

/// Two balances with a constant sum, in a place that keeps only the last write: a file, a cache.
#[derive(Default)]
struct Ledger {
    left: AtomicI64,
    right: AtomicI64,
    readers: AtomicUsize,
    most: AtomicUsize,
}

impl Ledger {
    /// Runs in any number of processes at once, but not while a writer runs.
    #[auto_read]
    async fn sum(&self) -> Result<i64, LockError> {
        let readers = self.readers.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(readers, Ordering::SeqCst);
        let left = self.left.load(Ordering::SeqCst);
        sleep(Duration::from_millis(50)).await;
        let sum = left + self.right.load(Ordering::SeqCst);
        self.readers.fetch_sub(1, Ordering::SeqCst);
        Ok(sum)
    }

    /// Runs in one process at a time, and not while readers run.
    #[auto_write(expire = 60)]
    async fn transfer(&self, amount: i64) -> Result<(), LockError> {
        self.left.fetch_sub(amount, Ordering::SeqCst);
        sleep(Duration::from_millis(20)).await;
        self.right.fetch_add(amount, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup(store("ledger")?)?;
    let ledger = Arc::new(Ledger::default());

    let mut sums = Vec::new();
    let mut transfers = Vec::new();
    for round in 0..5 {
        for _ in 0..4 {
            let ledger = ledger.clone();
            sums.push(tokio::spawn(async move { ledger.sum().await }));
        }
        let ledger = ledger.clone();
        transfers.push(tokio::spawn(async move { ledger.transfer(round).await }));
    }
    for transfer in transfers {
        transfer.await??;
    }
    for sum in sums {
        let sum = sum.await??;
        if sum != 0 {
            return Err(format!("a reader saw half of a transfer: {sum}").into());
        }
    }
    let most = ledger.most.load(Ordering::SeqCst);
    println!("every reader saw a whole ledger; up to {most} read at a time");
    Ok(())
}
