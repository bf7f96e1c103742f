//! An operation as a command for the server.

use std::time::Duration;

use super::scripts::{Operation, Scripts};
use super::wire::{self, Words};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op, Signal};

/// What follows a name in its keys, in the order of KEYS; see `scripts/common/base.lua`.
pub(super) const SUFFIXES: [&str; 6] = ["", ":tickets", ":held", ":queue", ":gone", ":signals"];

/// The channel of a member.
pub(super) fn channel(member: MemberId) -> String {
    format!("auto_mutex:member:{member}")
}

/// What comes before a name in its keys; its hash tag keeps all keys of the name in one slot.
const KEY: &str = "auto_mutex:{";

/// The first key of a name.
pub(super) fn key(name: &Name) -> String {
    format!("{KEY}{name}}}")
}

/// Appends EVALSHA of an operation of `member` to `out`.
pub(super) fn evaluate(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    op: &Op,
) {
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
    wire::command(out, |words| {
        words.text("EVALSHA");
        words.text(scripts.digest(operation));
        words.number(SUFFIXES.len() as u64);
        for suffix in SUFFIXES {
            words.joined(&[KEY, name.as_str(), "}", suffix]);
        }
        arguments(words, member, op);
    });
}

fn arguments(words: &mut Words<'_>, member: MemberId, op: &Op) {
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
            millis(words, *hold);
            millis(words, *place);
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
            millis(words, *hold);
            millis(words, *place);
        }
        Op::Release {
            ticket,
            park,
            tomb,
            used,
        } => {
            words.word(ticket);
            words.word(member);
            millis(words, *park);
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
            millis(words, *hold);
            millis(words, *place);
            words.text(meta);
        }
        Op::Force { owner } => {
            words.word(member);
            words.text(owner);
        }
        Op::Refresh { owner, expire } => {
            words.word(member);
            words.text(owner);
            millis(words, *expire);
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
}

fn millis(words: &mut Words<'_>, duration: Duration) {
    // Far beyond every lease, and exact in Lua with microseconds added.
    const MOST: u128 = 1 << 42;
    words.number(duration.as_millis().min(MOST) as u64);
}
