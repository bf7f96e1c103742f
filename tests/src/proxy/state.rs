//! The active faults, and the connections of the proxy.

use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    pub(super) delay: Duration,
    /// The most bytes per second, for each direction of each connection; 0: no limit.
    pub(super) pace: u32,
    pub(super) lose_reply_after: Option<usize>,
    /// Cuts the next reply that is longer than this, after this number of bytes.
    pub(super) cut_reply_at: Option<usize>,
    pub(super) freeze_reply_at: Option<usize>,
    pub(super) lose_request: bool,
    pub(super) frozen: bool,
    /// The number of the last connection that is frozen; 0: none.
    pub(super) frozen_up_to: u64,
    pub(super) replies_held: bool,
    pub(super) swallow_replies: bool,
    pub(super) refuse: bool,
}

#[derive(Default)]
pub(super) struct State {
    faults: Mutex<Faults>,
    changed: Condvar,
    sockets: Mutex<Vec<TcpStream>>,
    ended: AtomicBool,
    pub(super) target: AtomicU16,
    pub(super) connections: AtomicU64,
    pub(super) bytes_down: AtomicU64,
    /// The most bytes that came from the server in one read.
    pub(super) longest_reply: AtomicUsize,
    /// The number of the last connection that is half-open; 0: none.
    pub(super) dead_up_to: AtomicU64,
}

impl State {
    fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Faults {
        self.faults().clone()
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Faults) -> T) -> T {
        let out = change(&mut self.faults());
        self.changed.notify_all();
        out
    }

    /// Waits until `held` does not apply, or until the proxy ends.
    pub(super) fn wait_while(&self, held: impl Fn(&Faults) -> bool) {
        let mut faults = self.faults();
        while held(&faults) && !self.has_ended() {
            faults = self
                .changed
                .wait(faults)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn add(&self, socket: TcpStream) {
        self.sockets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(socket);
    }

    pub(super) fn cut(&self) {
        let mut sockets = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        for socket in sockets.drain(..) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        self.change(|_| ());
        self.cut();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}
