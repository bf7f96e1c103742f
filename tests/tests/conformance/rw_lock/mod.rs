//! Any number of readers, or one writer; neither side starves.

mod downgrading;
mod nesting;
mod queueing;
mod sharing;

pub(crate) use downgrading::*;
pub(crate) use nesting::*;
pub(crate) use queueing::*;
pub(crate) use sharing::*;

use auto_mutex::Client;
use auto_mutex_tests::events::becomes;

/// Waits until another member sees this many waiters for the lock `l`.
async fn waiters(observer: &Client, count: usize) {
    becomes(&format!("{count} waiters are seen"), async || {
        observer.rw_lock("l").info().await.unwrap().waiters.len() == count
    })
    .await;
}
