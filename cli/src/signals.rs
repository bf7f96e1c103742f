//! The signals that this process handles instead of being ended or stopped by them.

use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// Those by which users and supervisors end a command.
pub(crate) const ENDING: [Signal; 3] = [Signal::TERM, Signal::INT, Signal::HUP];

/// Those that `run` passes on to its command. SIGTTIN and SIGTTOU are not among them: a process that catches SIGTTOU
/// would get it again and again for the same write.
pub(crate) const PASSED_ON: [Signal; 8] = [
    Signal::TERM,
    Signal::INT,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::TSTP,
    Signal::CONT,
];

/// Catches signals. One that the process was started to ignore, as by `nohup`, stays ignored.
pub(crate) struct Signals(Vec<(Signal, unix::Signal)>);

impl Signals {
    /// Must be called in a runtime.
    pub(crate) fn new(signals: &[Signal]) -> io::Result<Self> {
        let ignored = ignored();
        let signals = signals
            .iter()
            .filter(|signal| ignored & bit(**signal) == 0)
            .map(|signal| {
                let kind = SignalKind::from_raw(signal.as_raw());
                Ok((*signal, unix::signal(kind)?))
            });
        signals.collect::<io::Result<_>>().map(Self)
    }

    pub(crate) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|cx| {
            let mut all = self.0.iter_mut();
            let signal =
                all.find_map(|(signal, caught)| caught.poll_recv(cx).is_ready().then_some(*signal));
            signal.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

fn bit(signal: Signal) -> u64 {
    1 << (signal.as_raw() - 1)
}

/// The mask of ignored signals. Only Linux tells it without a call of the C library.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let mask = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// The exit code for a command ended by this signal, as in shells.
pub(crate) fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(1)
}
