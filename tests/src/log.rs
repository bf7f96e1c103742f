//! Captures the log of the whole process, for test programs of their own.

use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

use tracing::Level;
use tracing_subscriber::fmt::format::FmtSpan;

static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
        log.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Begins to capture warnings and errors.
pub fn take_warnings() {
    take(Level::WARN, FmtSpan::NONE);
}

/// Begins to capture all events, and what happens to spans.
pub fn take_all() {
    take(Level::TRACE, FmtSpan::FULL);
}

fn take(level: Level, spans: FmtSpan) {
    static TAKES: Once = Once::new();
    TAKES.call_once(|| {
        tracing_subscriber::fmt()
            .with_max_level(level)
            .with_span_events(spans)
            .with_ansi(false)
            .with_writer(|| Log)
            .init();
    });
}

/// The captured log, without the parts that [`told`] has removed.
pub fn so_far() -> String {
    let log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&log).into_owned()
}

/// Removes and returns the captured log.
pub fn told() -> String {
    let mut log = LOG.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8(std::mem::take(&mut *log)).expect("text")
}
