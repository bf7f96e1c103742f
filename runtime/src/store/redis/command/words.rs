//! A command under construction: [`Words`].

use std::fmt::{Display, Write as _};
use std::time::Duration;

use redis::Cmd;

/// A command under construction; the buffer is for what has to be formatted first.
pub(super) struct Words {
    cmd: Cmd,
    buffer: String,
}

impl Words {
    /// EVALSHA of a script, for the keys of a name with these suffixes.
    pub(super) fn new(digest: &str, key: String, suffixes: &[&str]) -> Self {
        let mut cmd = Cmd::with_capacity(20, 320 + suffixes.len() * key.len());
        cmd.arg("EVALSHA").arg(digest).arg(suffixes.len());
        let mut buffer = key;
        let end = buffer.len();
        for suffix in suffixes {
            buffer.push_str(suffix);
            cmd.arg(&buffer);
            buffer.truncate(end);
        }
        Self { cmd, buffer }
    }

    pub(super) fn finish(self) -> Cmd {
        self.cmd
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.cmd.arg(bytes);
    }

    pub(super) fn text(&mut self, text: &str) {
        self.cmd.arg(text);
    }

    pub(super) fn word(&mut self, word: impl Display) {
        self.buffer.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.buffer, "{word}");
        self.cmd.arg(&self.buffer);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.cmd.arg(number);
    }

    pub(super) fn millis(&mut self, duration: Duration) {
        self.number(millis(duration));
    }
}

/// Whole milliseconds on the wire.
pub(super) fn millis(duration: Duration) -> u64 {
    // Far beyond every lease, and exact in Lua with microseconds added.
    const MOST: u128 = 1 << 42;
    duration.as_millis().min(MOST) as u64
}
