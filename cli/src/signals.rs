//! The signals by which a user or a supervisor ends a command.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// SIGTERM, SIGINT and SIGHUP, which no longer end this process.
pub(crate) struct Signals {
    term: unix::Signal,
    interrupt: unix::Signal,
    hangup: unix::Signal,
}

impl Signals {
    /// In a runtime.
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

/// The exit code for an end by this signal, as in shells.
pub(crate) fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(1)
}
