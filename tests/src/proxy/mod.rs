//! A TCP proxy on this machine that can delay, cut, freeze and refuse connections. It counts connections, and the bytes
//! of replies.
//!
//! The proxy handles bytes, not commands. A fault that waits for a request or a reply (`lose_…`, `…_reply_at`) happens
//! once.

mod pump;
mod state;
#[cfg(test)]
mod tests;

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use state::State;

/// A proxy to a port of this machine; all its connections end when it is dropped.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
}

impl Proxy {
    /// Starts a proxy to `target` that passes everything on.
    pub fn start(target: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        let state = Arc::new(State::default());
        state.target.store(target, Ordering::Release);
        thread::spawn({
            let state = state.clone();
            move || accept(&listener, &state)
        });
        Self { port, state }
    }

    /// The port to connect to instead of the target's.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Directs new connections to another port, as if the address had moved to another server.
    pub fn redirect(&self, target: u16) {
        self.state.target.store(target, Ordering::Release);
    }

    /// Delays all data that is sent from now on by `delay`, in each direction.
    pub fn delay(&self, delay: Duration) {
        self.state.change(|faults| faults.delay = delay);
    }

    /// Limits each direction of each connection to `bytes` per second. The proxy still reads all data immediately, as a
    /// kernel with free buffers does.
    pub fn pace(&self, bytes: u32) {
        self.state.change(|faults| faults.pace = bytes);
    }

    /// Cuts all existing connections.
    pub fn cut(&self) {
        self.state.cut();
    }

    /// Forwards the next request, and cuts its connection after `bytes` of the reply.
    pub fn lose_reply_after(&self, bytes: usize) {
        self.state
            .change(|faults| faults.lose_reply_after = Some(bytes));
    }

    /// Cuts the connection after `bytes` of the next longer reply. Bytes that arrive from the server together count as
    /// one reply.
    pub fn cut_reply_at(&self, bytes: usize) {
        self.state
            .change(|faults| faults.cut_reply_at = Some(bytes));
    }

    /// Like [`cut_reply_at`](Self::cut_reply_at), but [freezes](Self::freeze) the proxy instead of cutting.
    /// [`thaw`](Self::thaw) forwards the rest of the reply.
    pub fn freeze_reply_at(&self, bytes: usize) {
        self.state
            .change(|faults| faults.freeze_reply_at = Some(bytes));
    }

    /// Whether a fault for a reply is still pending.
    pub fn is_armed(&self) -> bool {
        let now = self.state.now();
        now.cut_reply_at.is_some()
            || now.freeze_reply_at.is_some()
            || now.lose_reply_after.is_some()
    }

    /// The most bytes that came from the server in one read since the last call of this function.
    pub fn longest_reply(&self) -> usize {
        self.state.longest_reply.swap(0, Ordering::AcqRel)
    }

    /// Cuts the connection at the next request, which is not passed on.
    pub fn lose_request(&self) {
        self.state.change(|faults| faults.lose_request = true);
    }

    /// Keeps all connections open and forwards nothing until [`thaw`](Self::thaw).
    pub fn freeze(&self) {
        self.state.change(|faults| faults.frozen = true);
    }

    /// Like [`freeze`](Self::freeze), but requests still reach the server.
    pub fn hold_replies(&self) {
        self.state.change(|faults| faults.replies_held = true);
    }

    /// Like [`freeze`](Self::freeze), but only for existing connections; new ones work. Bytes held back arrive after a
    /// [`thaw`](Self::thaw), even if their sender has gone.
    pub fn freeze_existing(&self) {
        let connections = self.connections();
        self.state
            .change(|faults| faults.frozen_up_to = connections);
    }

    /// Ends [`freeze`](Self::freeze), [`freeze_existing`](Self::freeze_existing) and
    /// [`hold_replies`](Self::hold_replies), and passes on what was held back.
    pub fn thaw(&self) {
        self.state.change(|faults| {
            faults.frozen = false;
            faults.frozen_up_to = 0;
            faults.replies_held = false;
        });
    }

    /// Half-open: drops the server's replies, while requests still reach the server.
    pub fn swallow_replies(&self) {
        self.state.change(|faults| faults.swallow_replies = true);
    }

    /// Half-open: existing connections stay open but carry nothing in either direction, even after a
    /// [`heal`](Self::heal). New connections work.
    pub fn half_open(&self) {
        self.state
            .dead_up_to
            .store(self.connections(), Ordering::Release);
    }

    /// Closes new connections at once.
    pub fn refuse(&self) {
        self.state.change(|faults| faults.refuse = true);
    }

    /// Ends every fault except cuts and half-open connections.
    pub fn heal(&self) {
        self.state
            .change(|faults| *faults = state::Faults::default());
    }

    /// The number of connections that were accepted, including refused ones.
    pub fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::Acquire)
    }

    /// The number of bytes that came from the server.
    pub fn bytes_down(&self) -> u64 {
        self.state.bytes_down.load(Ordering::Acquire)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.state.end();
        // Wakes the accepting thread, so that it ends, too.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn accept(listener: &TcpListener, state: &Arc<State>) {
    while let Ok((client, _)) = listener.accept() {
        if state.has_ended() {
            return;
        }
        let number = state.connections.fetch_add(1, Ordering::AcqRel) + 1;
        if state.now().refuse {
            continue;
        }
        let target = state.target.load(Ordering::Acquire);
        let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else {
            continue;
        };
        pump::start(number, client, server, state);
    }
}
