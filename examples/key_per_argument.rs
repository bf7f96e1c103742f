//! A lock per value of an argument: calls for one customer take turns, and do not wait for calls for other customers.
//!
//! `cargo run --example key_per_argument`

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use auto_mutex::{LockError, auto_mutex};
use auto_mutex_examples::store;
use tokio::time::sleep;

const CUSTOMERS: [&str; 3] = ["ada", "bob", "eve"];

/// Counts the calls that run at the same time, for one customer or for all.
#[derive(Default)]
struct Gauge {
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl Gauge {
    const fn new() -> Self {
        Self {
            inside: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        }
    }

    fn enter(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

static ALL: Gauge = Gauge::new();
static EACH: [Gauge; 3] = [const { Gauge::new() }; 3];

/// The key may be a template, as here, an expression (`key = customer`) or a tuple of them.
#[auto_mutex(expire = 60, key = "{customer}")]
async fn send_invoice(customer: &str, number: u32) -> Result<(), LockError> {
    let gauge = CUSTOMERS.iter().position(|name| *name == customer);
    let gauge = &EACH[gauge.unwrap_or_default()];
    gauge.enter();
    ALL.enter();
    println!("invoice {number} for {customer}");
    sleep(Duration::from_millis(100)).await;
    ALL.leave();
    gauge.leave();
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup(store("invoices")?)?;

    let mut calls = Vec::new();
    for number in 1..=4 {
        for customer in CUSTOMERS {
            calls.push(tokio::spawn(send_invoice(customer, number)));
        }
    }
    for call in calls {
        call.await??;
    }

    for (customer, gauge) in CUSTOMERS.iter().zip(&EACH) {
        println!("{customer}: {} at a time", gauge.most());
    }
    println!("all together: up to {} at a time", ALL.most());
    if EACH.iter().all(|gauge| gauge.most() == 1) {
        Ok(())
    } else {
        Err("two calls for one customer overlapped".into())
    }
}
