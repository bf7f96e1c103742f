//! An operation as a command for the server.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use redis::Cmd;

use super::scripts::{Operation, Scripts};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op, Signal};

/// What follows a name in its keys, in the order of KEYS; see `scripts/common/base.lua`.
pub(super) const SUFFIXES: [&str; 6] = ["", ":tickets", ":held", ":queue", ":gone", ":signals"];

/// The channel of a member.
pub(super) fn channel(member: MemberId) -> String {
    format!("auto_mutex:member:{member}")
}

/// The key of a name; its hash tag keeps all keys of the name in one slot.
pub(super) fn key(name: &Name) -> String {
    format!("auto_mutex:{{{name}}}")
}

/// EVALSHA of an operation of `member`.
pub(super) fn evaluate(scripts: &Scripts, member: MemberId, name: &Name, op: &Op) -> Cmd {
    let operation = match op {
        Op::Acquire { .. } => Operation::Acquire,
        Op::Touch { .. } => Operation::Touch,
        Op::Release { .. } => Operation::Release,
        Op::Adopt { .. } => Operation::Adopt,
        Op::Force { .. } => Operation::Force,
        Op::Refresh { .. } => Operation::Refresh,
        Op::Signal { .. } => Operation::Signal,
        Op::Delete => Operation::Delete,
        Op::Inspect => Operation::Inspect,
    };
    let mut words = Words::new(scripts.digest(operation), name);
    match op {
        Op::Acquire {
            ticket,
            counter,
            share,
            hold,
            place,
            mode,
            meta,
        } => {
            words.word(ticket);
            words.word(member);
            words.number(*counter);
            words.number(u64::from(share.units));
            words.number(u64::from(share.capacity));
            words.number(u64::from(share.takes));
            words.text(&share.owner);
            words.millis(*hold);
            words.millis(*place);
            words.text(match mode {
                Mode::Queue => "queue",
                Mode::Try => "try",
            });
            words.text(meta);
        }
        Op::Touch {
            ticket,
            counter,
            units,
            hold,
            place,
        } => {
            words.word(ticket);
            words.word(member);
            words.number(*counter);
            words.number(u64::from(*units));
            words.millis(*hold);
            words.millis(*place);
        }
        Op::Release {
            ticket,
            park,
            tomb,
            used,
        } => {
            words.word(ticket);
            words.word(member);
            words.millis(*park);
            words.number(u64::from(*tomb));
            words.number(*used);
        }
        Op::Adopt {
            old,
            ticket,
            counter,
            hold,
            place,
            meta,
        } => {
            words.word(old);
            words.word(ticket);
            words.word(member);
            words.number(*counter);
            words.millis(*hold);
            words.millis(*place);
            words.text(meta);
        }
        Op::Force { owner } => {
            words.word(member);
            words.text(owner);
        }
        Op::Refresh { owner, expire } => {
            words.word(member);
            words.text(owner);
            words.millis(*expire);
        }
        Op::Signal { ticket, signal } => {
            words.word(ticket);
            words.word(member);
            match signal {
                Signal::Token(token) => {
                    words.text("token");
                    words.text(token);
                }
                Signal::One => words.text("one"),
                Signal::All => words.text("all"),
            }
        }
        Op::Delete => words.word(member),
        Op::Inspect => {}
    }
    words.cmd
}

/// A command under construction; the buffer is for what has to be formatted first.
struct Words {
    cmd: Cmd,
    buffer: String,
}

impl Words {
    fn new(digest: &str, name: &Name) -> Self {
        let key = key(name);
        let mut cmd = Cmd::with_capacity(20, 320 + SUFFIXES.len() * key.len());
        cmd.arg("EVALSHA").arg(digest).arg(SUFFIXES.len());
        let mut buffer = key;
        let end = buffer.len();
        for suffix in SUFFIXES {
            buffer.push_str(suffix);
            cmd.arg(&buffer);
            buffer.truncate(end);
        }
        Self { cmd, buffer }
    }

    fn text(&mut self, text: &str) {
        self.cmd.arg(text);
    }

    fn word(&mut self, word: impl Display) {
        self.buffer.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.buffer, "{word}");
        self.cmd.arg(&self.buffer);
    }

    fn number(&mut self, number: u64) {
        self.cmd.arg(number);
    }

    fn millis(&mut self, duration: Duration) {
        // Far beyond every lease, and exact in Lua with microseconds added.
        const MOST: u128 = 1 << 42;
        self.number(duration.as_millis().min(MOST) as u64);
    }
}
