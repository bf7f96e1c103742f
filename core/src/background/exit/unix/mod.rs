//! SIGTERM and SIGINT, if the program asks for it.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::Duration;

pub(crate) use self::handler::register;
use super::WATCHED;
use crate::base::error::SetupError;
use crate::base::process::PerProcess;
use crate::base::wait::spawn;
use crate::observe::HOLD;

mod handler;

/// How long bodies may take; `None` if signals are not handled yet.
static LIMIT: PerProcess<Mutex<Option<Duration>>> = PerProcess::new(Mutex::default);

pub(super) fn handle_within(new: Duration) -> Result<(), SetupError> {
    let mut limit = LIMIT.lock();
    if limit.is_none() {
        if !register() {
            return Err(SetupError::background_thread(
                "the system refuses to report forks",
            ));
        }
        let (signals, pipe) = UnixStream::pair().map_err(SetupError::background_thread)?;
        // If the handler is refused, the other end of the pipe is closed, which ends the thread.
        spawn("auto-mutex-signals", move || handle(signals))
            .map_err(SetupError::background_thread)?;
        handler::install(pipe).map_err(SetupError::background_thread)?;
    }
    *limit = Some(new);
    Ok(())
}

fn handle(mut signals: UnixStream) {
    let mut next = || {
        let mut number = [0; size_of::<i32>()];
        let received = signals.read_exact(&mut number);
        received.ok().map(|()| i32::from_ne_bytes(number))
    };
    let Some(first) = next() else {
        return;
    };
    let limit = LIMIT.lock().unwrap_or_default();
    if limit.is_zero() {
        end(first);
    }
    // The drain runs on another thread, so that this one can receive the second signal.
    if spawn("auto-mutex-drain", move || drain(first, limit)).is_err() {
        end(first);
    }
    if let Some(second) = next() {
        end(second);
    }
}

fn drain(signal: i32, limit: Duration) {
    tracing::info!(
        target: HOLD,
        signal,
        ?limit,
        "this process received a signal to end, and releases its locks first; a second signal ends it immediately"
    );
    for held in WATCHED.get().drain(limit) {
        tracing::warn!(
            target: HOLD,
            held,
            "a body did not end in time: its lock is released, and the process ends"
        );
    }
    end(signal);
}

fn end(signal: i32) -> ! {
    WATCHED.get().flush();
    handler::end(signal)
}
