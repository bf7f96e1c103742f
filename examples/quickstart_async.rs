//! The attribute on an async method, and a lock taken by hand.
//!
//! `cargo run --example quickstart_async`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_mutex::{LockError, Mutex, auto_mutex};
use auto_mutex_examples::store;
use tokio::time::sleep;

#[derive(Default)]
struct Ledger {
    entries: AtomicU32,
}

impl Ledger {
    /// Reads, waits, writes: without the lock, two calls at once would lose an update.
    #[auto_mutex(expire = 60, block = 30, guard = lock)]
    async fn add(&self, amount: u32) -> Result<u64, LockError> {
        let entries = self.entries.load(Ordering::Relaxed);
        sleep(Duration::from_millis(5)).await;
        self.entries.store(entries + amount, Ordering::Relaxed);
        Ok(lock.fencing_token())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup(store("quickstart")?)?;

    let ledger = Arc::new(Ledger::default());
    let tasks: Vec<_> = (1..=20)
        .map(|amount| {
            let ledger = ledger.clone();
            tokio::spawn(async move { ledger.add(amount).await })
        })
        .collect();
    let mut tokens = Vec::new();
    for task in tasks {
        tokens.push(task.await??);
    }
    tokens.sort_unstable();
    tokens.dedup();
    let sum = ledger.entries.load(Ordering::Relaxed);
    println!("20 tasks added 1 to 20: {sum}");
    println!(
        "every call had a fencing token of its own: {}",
        tokens.len() == 20
    );

    // A lock taken by hand.
    let guard = Mutex::new("reports").lock().await?;
    println!("{} is held, token {}", guard.name(), guard.fencing_token());
    println!("released: {}", guard.unlock().await?);

    auto_mutex::shutdown().await;
    if sum == 210 && tokens.len() == 20 {
        Ok(())
    } else {
        Err("a call did not have the lock to itself".into())
    }
}
