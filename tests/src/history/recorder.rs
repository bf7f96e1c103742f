//! Writes events to a file, so that they outlive the process that wrote them, and reads them again.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use super::{Event, What};

/// The time in nanoseconds, by a clock that all processes of this machine share.
pub fn now() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Records the events of one task in a file shared with other tasks. An event is in the file when `note` returns, even
/// if the process is killed afterwards.
pub struct Recorder {
    file: File,
    who: String,
}

impl Recorder {
    /// Opens the file to append to it; `who` must not contain spaces.
    pub fn open(path: &Path, who: String) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self {
            file: file.expect("a file for the history"),
            who,
        }
    }

    /// Records an event; `at` is a time of [`now`].
    pub fn note(&mut self, at: u64, what: What) {
        let who = self.who.clone();
        let line = format!("{}\n", Event { at, who, what });
        // A single write, so that no other task's line comes in between.
        self.file
            .write_all(line.as_bytes())
            .expect("a file to write to");
    }
}

/// Reads the events of each task, in order.
pub fn read(path: &Path) -> BTreeMap<String, Vec<Event>> {
    let text = std::fs::read_to_string(path).expect("a history");
    let mut tasks = BTreeMap::<String, Vec<Event>>::new();
    for line in text.lines() {
        let event = Event::parse(line).unwrap_or_else(|| panic!("{line:?}"));
        tasks.entry(event.who.clone()).or_default().push(event);
    }
    tasks
}
