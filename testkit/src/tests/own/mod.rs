//! A World behaves as real machines do, and repeats itself.

mod beside;
mod failures;
mod faults;
mod limits;
mod repeats;
mod table;
mod time;

use std::time::Duration;

// For `memory://`.
use auto_mutex as _;

use crate::{Runs, World, run};

const SECOND: Duration = Duration::from_secs(1);

async fn sleep(seconds: u32) {
    tokio::time::sleep(SECOND * seconds).await;
}
