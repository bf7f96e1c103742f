//! A node. `AUTO_MUTEX_URL=redis://127.0.0.1:6379 cargo run -p auto-mutex-example-tested-service`, in several
//! terminals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::Config;
use auto_mutex_example_tested_service::{Billing, Books, Refused};

/// Prints what a database would keep. Each process has its own, which refuses nothing.
struct Printed(AtomicU32);

impl Books for Printed {
    fn booked(&self, _: u32) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn book(&self, token: u64, month: u32, invoice: u32) -> Result<(), Refused> {
        self.0.store(invoice + 1, Ordering::Relaxed);
        println!("booked invoice {invoice} of month {month} (token {token})");
        Ok(())
    }

    fn archive(&self, token: u64, month: u32) -> Result<(), Refused> {
        println!("archived month {month} (token {token})");
        Ok(())
    }

    fn remind(&self, token: u64) -> Result<(), Refused> {
        println!("reminded the customers (token {token})");
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    auto_mutex::setup_async(Config::from_env()?).await?;
    let billing = Billing::new(Arc::new(Printed(AtomicU32::new(0))), 10);
    let interrupted = async {
        let _ = tokio::signal::ctrl_c().await;
    };
    println!("{}", billing.run(5, interrupted).await?);
    Ok(())
}
