//! Several locks at once, all or none: transfers between accounts in any direction, without a deadlock.
//!
//! `cargo run --example several_locks`

use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};
use auto_mutex_examples::store;
use tokio::time::sleep;

static BALANCES: Mutex<[i64; 4]> = Mutex::new([100; 4]);

fn balances() -> [i64; 4] {
    *BALANCES.lock().expect("no panic inside")
}

/// Takes a lock for each of the two accounts. The order of the keys does not matter: all calls take the locks in one
/// order.
#[auto_mutex(keys = [from, to], expire = 60, block = 30)]
async fn transfer(from: usize, to: usize, amount: i64) -> Result<(), LockError> {
    let before = balances();
    sleep(Duration::from_millis(10)).await;
    let mut balances = BALANCES.lock().expect("no panic inside");
    // The locks have kept other calls from changing these two balances.
    balances[from] = before[from] - amount;
    balances[to] = before[to] + amount;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup(store("accounts")?)?;

    let mut transfers = Vec::new();
    for round in 0..20 {
        let (from, to) = (round % 4, (round * 3 + 1) % 4);
        if from != to {
            transfers.push(tokio::spawn(transfer(from, to, 5)));
            transfers.push(tokio::spawn(transfer(to, from, 3)));
        }
    }
    let count = transfers.len();
    for transfer in transfers {
        transfer.await??;
    }

    let sum: i64 = balances().iter().sum();
    println!("{count} transfers, {:?}, together {sum}", balances());
    if sum == 400 {
        Ok(())
    } else {
        Err("money was made or lost".into())
    }
}
