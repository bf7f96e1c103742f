//! The signals by which users and supervisors end a command.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// Catches SIGTERM, SIGINT and SIGHUP, so that they do not end this process.
pub(crate) struct Signals {
    term: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
}

impl Signals {
    /// Must be called in a runtime.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            term: unix::signal(SignalKind::terminate())?,
            interrupt: unix::signal(SignalKind::interrupt())?,
            hangup: unix::signal(SignalKind::hangup())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.term.recv() => Signal::TERM,
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.hangup.recv() => Signal::HUP,
        }
    }
}

/// The exit code for a command ended by this signal, as in shells.
pub(crate) fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(1)
}
