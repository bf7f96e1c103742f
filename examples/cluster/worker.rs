//! The loop of a worker, in a process or in a thread: call the method, pause, call again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use crate::clock::Time;
use crate::event::{Event, What};
use crate::ledger::{self, Ledger};
use crate::plan::Protection;

/// The orders that a worker has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    stay: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Orders {
    /// Whether the next call must stay inside.
    pub(crate) fn stay(&self) -> bool {
        self.stay.load(Ordering::Relaxed)
    }

    pub(crate) fn order_stay(&self) {
        self.stay.store(true, Ordering::Relaxed);
    }

    pub(crate) fn order_stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Sends the events of one worker to the show.
pub(crate) struct Reporter {
    worker: usize,
    send: Box<dyn Fn(Event) + Send + Sync>,
}

impl Reporter {
    pub(crate) fn new(worker: usize, send: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self {
            worker,
            send: Box::new(send),
        }
    }

    pub(crate) fn tell(&self, what: What) {
        (self.send)(Event {
            worker: self.worker,
            at: Time::now(),
            what,
        });
    }
}

/// Calls the method until the order to stop, or until a call fails.
pub(crate) async fn live(ledger: &Ledger, protection: Protection) {
    let mut dice = Dice(ledger.worker as u64 + 1);
    while !ledger.orders.stop() {
        sleep(dice.between(80, 330)).await;
        let work = dice.between(220, 420);
        ledger.reporter.tell(What::Calls);
        let result = match protection {
            Protection::Lock => ledger.close_day(work).await,
            Protection::None => ledger.close_day_unprotected(work).await,
        };
        if let Err(failure) = result {
            let reason = ledger::describe(&failure);
            ledger.reporter.tell(What::Fails { reason });
            return;
        }
    }
}

/// A generator of varied numbers, the same in every show.
struct Dice(u64);

impl Dice {
    fn between(&mut self, low: u64, high: u64) -> Duration {
        // Knuth's constants for a linear congruence; the upper bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(low + (self.0 >> 33) % (high - low))
    }
}
