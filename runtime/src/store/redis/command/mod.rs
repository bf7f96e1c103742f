//! An operation as a command for the server: [`evaluate`].

mod long;
mod short;

use std::time::Duration;

use super::scripts::{Script, Scripts};
use super::wire::{self, Words};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op};

/// What follows a name in its keys, in the order of KEYS; see `scripts/common/base.lua`.
pub(super) const SUFFIXES: [&str; 6] = ["", ":tickets", ":held", ":queue", ":gone", ":signals"];

/// The same, and a key that is never there. While a slot is moved to another node, a node refuses what names a key that
/// it does not have: so no script sees a part of a name's keys, or finds one gone that it removed itself.
pub(super) const SUFFIXES_OF_CLUSTER: [&str; 7] = [
    "", ":tickets", ":held", ":queue", ":gone", ":signals", ":whole",
];

/// How an operation is put to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a script that knows the first key and the plain cases alone. What it cannot do it answers with nil, and has done
    /// nothing then.
    Short,
    /// By a script that can do everything.
    Long,
}

impl Way {
    /// The shortest one for an operation.
    pub(super) fn of(op: &Op) -> Self {
        match short::takes(op) {
            true => Self::Short,
            false => Self::Long,
        }
    }
}

/// The channel of a member.
pub(super) fn channel(member: MemberId) -> String {
    format!("auto_mutex:member:{member}")
}

/// The channel of a member for one name, in the slot of its keys.
pub(super) fn shard_channel(name: &Name, member: MemberId) -> String {
    format!("{KEY}{name}}}:member:{member}")
}

/// What comes before a name in its keys; the hash tag keeps all keys of the name in one slot.
const KEY: &str = "auto_mutex:{";

/// The first key of a name.
#[cfg(test)]
pub(super) fn key(name: &Name) -> String {
    format!("{KEY}{name}}}")
}

/// Whether a release and an acquire of the same name, both on the short way, can be one command.
pub(super) fn is_cycle(release: &Op, acquire: &Op) -> bool {
    let queues = matches!(
        acquire,
        Op::Acquire {
            mode: Mode::Queue,
            ..
        }
    );
    queues && matches!(release, Op::Release { .. })
}

/// Appends EVALSHA of a release and the next acquire of `member` to `out`.
pub(super) fn cycle(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    [release, acquire]: [&Op; 2],
) {
    let digest = scripts.digest(Script::ShortCycle);
    script(out, digest, name, &SUFFIXES[..1], |words| {
        short::write(words, member, acquire);
        short::write(words, member, release);
    });
}

/// Appends EVALSHA of an operation of `member` to `out`. Nothing is granted before `opens`, which only the long way knows.
pub(super) fn evaluate(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    op: &Op,
    way: Way,
    opens: u64,
) {
    let short = match (way, op) {
        (Way::Short, Op::Acquire { .. }) => Some(Script::ShortAcquire),
        (Way::Short, Op::Touch { .. }) => Some(Script::ShortTouch),
        (Way::Short, Op::Release { .. }) => Some(Script::ShortRelease),
        _ => None,
    };
    match short.map(|short| scripts.digest(short)) {
        Some(digest) => script(out, digest, name, &SUFFIXES[..1], |words| {
            short::write(words, member, op);
        }),
        None => {
            let digest = scripts.digest(Script::Long);
            script(out, digest, name, scripts.suffixes, |words| {
                long::write(words, member, op, opens);
            });
        }
    }
}

/// EVALSHA of a script, for the keys of a name with these suffixes.
fn script(
    out: &mut Vec<u8>,
    digest: &str,
    name: &Name,
    suffixes: &[&str],
    arguments: impl FnOnce(&mut Words<'_>),
) {
    wire::command(out, |words| {
        words.texts(&["EVALSHA", digest]);
        words.number(suffixes.len() as u64);
        keys(words, name, suffixes);
        arguments(words);
    });
}

/// The keys of a name with these suffixes.
pub(super) fn keys(words: &mut Words<'_>, name: &Name, suffixes: &[&str]) {
    for suffix in suffixes {
        words.joined(&[KEY, name.as_str(), "}", suffix]);
    }
}

/// Whole milliseconds on the wire.
fn millis(duration: Duration) -> u64 {
    // Far beyond every lease, and exact in Lua with microseconds added.
    const MOST: u128 = 1 << 42;
    duration.as_millis().min(MOST) as u64
}
