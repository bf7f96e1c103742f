//! The long way: every argument is a word.

use super::millis;
use crate::store::redis::wire::Words;
use crate::store::{MemberId, Mode, Op, Signal};

/// The arguments of an operation of `member`; nothing is granted before `opens`.
pub(super) fn write(words: &mut Words<'_>, member: MemberId, op: &Op, opens: u64) {
    words.text(match op {
        Op::Acquire { .. } => "acquire",
        Op::Touch { .. } => "touch",
        Op::Release { .. } => "release",
        Op::Adopt { .. } => "adopt",
        Op::Force { .. } => "force",
        Op::Refresh { .. } => "refresh",
        Op::Raise { .. } => "raise",
        Op::Signal { .. } => "signal",
        Op::Delete => "delete",
        Op::Inspect => "inspect",
    });
    if !matches!(op, Op::Inspect) {
        words.number(opens);
    }
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
            words.number(millis(*hold));
            words.number(millis(*place));
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
            words.number(millis(*hold));
            words.number(millis(*place));
        }
        Op::Release {
            ticket,
            park,
            tomb,
            used,
        } => {
            words.word(ticket);
            words.word(member);
            words.number(millis(*park));
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
            words.number(millis(*hold));
            words.number(millis(*place));
            words.text(meta);
        }
        Op::Force { owner } => {
            words.word(member);
            words.text(owner);
        }
        Op::Refresh { owner, expire } => {
            words.word(member);
            words.text(owner);
            words.number(millis(*expire));
        }
        Op::Raise { ticket, token } => {
            words.word(ticket);
            words.word(member);
            words.number(*token);
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
