//! [`Clock`]: the virtual time of a World, which is that of tokio's paused clock.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Handle, Id};

use auto_mutex_core::hook::by_hand;
use auto_mutex_core::store::{Instant, Mutex, lock};

/// Some time after the machine was started, the same in every run.
const START: Duration = Duration::from_secs(1_000_000);

/// Where a runtime's clock stood when it was first read, and what it showed there.
type Joined = (Id, tokio::time::Instant, Instant);

/// The hosts of a simulator such as turmoil have a runtime each, whose clocks advance together.
#[derive(Debug)]
pub(super) struct Clock(Mutex<(Instant, Vec<Joined>)>);

impl Clock {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new((Instant::START.after(START), Vec::new()))))
    }

    /// The time in the runtime of this thread; on a thread without one, the time when the clock was last read.
    pub(super) fn now(&self) -> Instant {
        let mut inner = lock(&self.0);
        let (last, runtimes) = &mut *inner;
        let Ok(handle) = Handle::try_current() else {
            return *last;
        };
        let (id, here) = (handle.id(), tokio::time::Instant::now());
        let found = runtimes.iter().find(|joined| joined.0 == id).copied();
        let (_, joined, then) = found.unwrap_or_else(|| {
            runtimes.push((id, here, *last));
            (id, here, *last)
        });
        let now = then.after(here - joined);
        *last = now.max(*last);
        now
    }

    pub(super) fn since_start(&self) -> Duration {
        Instant::START.after(START).until(self.now())
    }

    /// Lets the locks of this thread read this clock, as long as it exists.
    pub(super) fn install(self: &Arc<Self>) {
        let clock = Arc::downgrade(self);
        by_hand::follow(move || clock.upgrade().map(|clock| clock.now()));
    }
}

/// Whether time stands still in this runtime unless all its tasks wait.
pub(super) fn is_paused() -> bool {
    let (before, started) = (tokio::time::Instant::now(), std::time::Instant::now());
    while started.elapsed() < Duration::from_micros(10) {}
    tokio::time::Instant::now() == before
}
