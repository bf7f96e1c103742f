//! The attribute without an async runtime: plain functions and threads.
//!
//! `cargo run --example quickstart_sync`

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};
use auto_mutex_examples::store;

static STOCK: AtomicU32 = AtomicU32::new(100);

/// Reads, waits, writes: without the lock, two calls at once would lose an update.
#[auto_mutex(expire = 60, block = 30)]
fn sell_one() -> Result<u32, LockError> {
    let stock = STOCK.load(Ordering::Relaxed);
    thread::sleep(Duration::from_millis(5));
    STOCK.store(stock - 1, Ordering::Relaxed);
    Ok(stock - 1)
}

fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup(store("quickstart")?)?;

    let sellers: Vec<_> = (1..=8)
        .map(|seller| {
            thread::spawn(move || -> Result<(), LockError> {
                for _ in 0..5 {
                    let left = sell_one()?;
                    println!("seller {seller} sold one, {left} left");
                }
                Ok(())
            })
        })
        .collect();
    for seller in sellers {
        seller.join().map_err(|_| "a seller panicked")??;
    }

    let left = STOCK.load(Ordering::Relaxed);
    println!("8 sellers sold 5 each: {left} of 100 left");
    if left == 60 {
        Ok(())
    } else {
        Err("a sale was lost".into())
    }
}
