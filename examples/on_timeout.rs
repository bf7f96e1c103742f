//! Five ways to handle a call that does not get its lock in time.
//!
//! `cargo run --example on_timeout`

use std::error::Error;

use auto_mutex::{LockError, Mutex, auto_mutex};
use auto_mutex_examples::store;

struct Reports;

// All five methods share one lock, so that `main` can hold it while it calls them.
#[auto_mutex(name = "report", block = 0.1)]
impl Reports {
    /// No handler: the error is in the return type.
    fn or_error(&self, month: u32) -> Result<String, LockError> {
        Ok(format!("report of month {month}"))
    }

    /// A path: called with the method's own arguments.
    #[auto_mutex(on_timeout = Self::busy)]
    fn or_busy(&self, month: u32) -> Result<String, LockError> {
        Ok(format!("report of month {month}"))
    }

    fn busy(&self, month: u32) -> Result<String, LockError> {
        Ok(format!("somebody else writes month {month}"))
    }

    /// A closure: its body sees the arguments too.
    #[auto_mutex(on_timeout = || Ok(format!("month {month}: try again")))]
    fn or_closure(&self, month: u32) -> Result<String, LockError> {
        Ok(format!("report of month {month}"))
    }

    /// `skip` returns the type's default, here nothing.
    #[auto_mutex(on_timeout = skip)]
    fn or_skip(&self, month: u32) -> Result<Option<String>, LockError> {
        Ok(Some(format!("report of month {month}")))
    }

    /// A return type that has no place for an error needs a handler for every error.
    #[auto_mutex(on_timeout = skip, on_error = |error| error.to_string())]
    fn or_text(&self, month: u32) -> String {
        format!("report of month {month}")
    }
}

fn show(reports: &Reports) {
    match reports.or_error(5) {
        Ok(report) => println!("  no handler: {report}"),
        Err(error) => println!("  no handler: error: {error}"),
    }
    println!("  path:       {:?}", reports.or_busy(5));
    println!("  closure:    {:?}", reports.or_closure(5));
    println!("  skip:       {:?}", reports.or_skip(5));
    println!("  text:       {:?}", reports.or_text(5));
}

fn main() -> Result<(), Box<dyn Error>> {
    auto_mutex::setup(store("reports")?)?;

    let guard = Mutex::new("report").blocking_lock()?;
    println!("while somebody else holds the lock:");
    show(&Reports);
    guard.blocking_unlock()?;

    println!("when it is free:");
    show(&Reports);
    Ok(())
}
