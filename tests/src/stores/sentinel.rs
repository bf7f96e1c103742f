//! Redis behind sentinels: a primary and two replicas.

use std::sync::{Mutex, PoisonError};

use auto_mutex::Config;

use super::{TestStore, config};
use crate::redis::Redis;
use crate::sentinel::Service;

/// Services that no test uses at the moment: to make one takes seconds, to empty one milliseconds.
static IDLE: Mutex<Vec<Service>> = Mutex::new(Vec::new());

/// A service that a test has for itself.
pub struct OnSentinel(Option<Service>);

impl OnSentinel {
    /// One that is idle, or a new one.
    #[expect(clippy::new_without_default, reason = "starts processes")]
    pub fn new() -> Self {
        let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Self(Some(idle.unwrap_or_else(Service::start)))
    }

    fn service(&self) -> &Service {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for OnSentinel {
    fn drop(&mut self) {
        // After a failure somebody may still be at it.
        if let Some(service) = self.0.take().filter(|_| !std::thread::panicking()) {
            service.server(0).command(&["FLUSHALL"]);
            let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(service);
        }
    }
}

impl TestStore for OnSentinel {
    fn url(&self) -> String {
        self.service().url()
    }

    fn server(&self) -> Option<&Redis> {
        Some(self.service().server(0))
    }

    /// Nothing is restarted: without the guard the first test need not wait.
    fn config(&self) -> Config {
        config(self.url()).restart_guard(false)
    }
}
