//! What ends a test that would wait forever, and says who waits for what.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::task::{Context, Wake};
use std::time::Duration;

use auto_mutex_core::store::{lock, meta};

use super::world::Shared;

/// How much virtual time may pass while a test only waits.
const LONGEST_WAIT: Duration = Duration::from_secs(6 * 60 * 60);
/// How many turns the test and its hosts may have while no time passes, at least.
const MOST_STEPS: u64 = 200_000;
/// How much real time may pass while time is held and nothing happens.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Runs in a World whose time is not held.
pub(super) async fn limit_time(world: Weak<Shared>) {
    while let Some(world) = world.upgrade() {
        let ends = *lock(&world.advanced) + LONGEST_WAIT;
        let left = ends.saturating_sub(world.clock.since_start());
        if left.is_zero() {
            return world.fail(
                "six hours of virtual time have passed, and what the test waits for has not come. If it takes longer, let the time pass with `world.advance(…)`",
            );
        }
        drop(world);
        tokio::time::sleep(left).await;
    }
}

/// Holds time until there is something to receive. Time stands still while a blocking task of the runtime runs.
pub(super) fn hold_time(released: &Receiver<()>, patience: Duration, world: &Weak<Shared>) {
    let mut before = 0;
    while released.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
        let Some(world) = world.upgrade() else {
            return;
        };
        // Odd while the thread of the test sleeps.
        let sleeps = world.runtime().metrics().worker_park_unpark_count(0);
        let is_beside = Arc::strong_count(&world.beside) > 1;
        if sleeps == before && sleeps % 2 == 1 && !is_beside {
            world.fail(&format!(
                "nothing has happened for {patience:?}, and virtual time stands still until the test lets it pass: call `world.advance(…)` before you await what takes time. A wait for something real that takes longer goes into `world.real_time(…)`",
            ));
        }
        before = sleeps;
    }
}

impl Shared {
    /// Fails the test, whatever it waits for. (A panic of a task would end that task alone.)
    pub(super) fn fail(&self, why: &str) {
        let message = self.unknown_panic();
        let message = message.unwrap_or_else(|| format!("{why}{}", self.who_waits()));
        self.runtime().spawn(async move {
            // The runtime wakes those that have yielded while no task runs, so the panic goes on to `block_on`.
            let waker = Arc::new(Fails(message)).into();
            let _ = pin!(tokio::task::yield_now()).poll(&mut Context::from_waker(&waker));
        });
    }

    /// Counts a turn of the test or of a host.
    pub(super) fn note_step(&self) {
        let (steps, checked) = &self.steps;
        if steps.fetch_add(1, Ordering::Relaxed) % MOST_STEPS == MOST_STEPS - 1 {
            let now = self.clock.since_start().as_nanos() as u64 + 1;
            if checked.swap(now, Ordering::Relaxed) == now {
                self.fail(
                    "the test has taken 200,000 steps, and no time has passed: a loop never waits",
                );
            }
        }
    }

    /// The holders, and what waits in the store's queues.
    fn who_waits(&self) -> String {
        let active = lock(&self.record).active.clone().into_values();
        let mut lines: Vec<_> = active
            .map(|(host, held)| format!("`{host}` holds {held}"))
            .collect();
        let records = lock(&self.server).records();
        for (name, record) in &records {
            let waiters = record.waiters.iter();
            let callers = waiters.filter_map(|waiter| meta::caller(&waiter.meta));
            lines.extend(
                callers.map(|it| format!("`{}` waits for `{name}`, by {}", it.host, it.site)),
            );
        }
        lines.iter().map(|line| format!("\n- {line}")).collect()
    }
}

struct Fails(String);

impl Wake for Fails {
    fn wake(self: Arc<Self>) {
        panic!("{}", self.0);
    }
}
