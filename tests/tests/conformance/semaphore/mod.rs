//! Semaphores: several holders in order of arrival, tokens, and deletion.

mod counting;
mod lifecycle;
mod queueing;
mod tokens;

pub(crate) use counting::*;
pub(crate) use lifecycle::*;
pub(crate) use queueing::*;
pub(crate) use tokens::*;

use auto_mutex::Client;
use auto_mutex_tests::events::becomes;

/// Waits until another member sees this many waiters for the semaphore `s` of `permits` permits.
async fn waiters(observer: &Client, permits: u32, count: usize) {
    let semaphore = observer.semaphore("s", permits);
    becomes(&format!("{count} waiters are seen"), async || {
        semaphore.info().await.unwrap().waiters.len() == count
    })
    .await;
}
