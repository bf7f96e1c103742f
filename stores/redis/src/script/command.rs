//! Encodes operations as a command for the server: [`evaluate`]. `script/head.lua` describes the encoding of each
//! operation.

use std::io::Write;

use auto_mutex_seam::store::{MemberId, Mode, Name, Op, Retain, Signal, millis};
use redis::{Cmd, RedisWrite as _};

use crate::script::{Scripts, code};

/// The prefix of every key of a name. The brace starts the hash tag, which keeps these keys in one slot.
pub(crate) const KEY: &str = "auto_mutex:{";
pub(crate) const CHANNEL: &str = "auto_mutex:member:";
pub(crate) const SHARD_CHANNEL: &str = ":member:";

pub(crate) fn channel(member: MemberId) -> String {
    format!("{CHANNEL}{member}")
}

pub(crate) fn shard_channel(name: &Name, member: MemberId) -> String {
    format!("{KEY}{name}}}{SHARD_CHANNEL}{member}")
}

/// The start of a command if nothing is granted before the server time `opens`; `None` for 0, when the server grants.
pub(crate) fn until(opens: u64) -> Option<(u8, u64)> {
    (opens > 0).then_some((code::UNTIL, opens))
}

/// An operation in a command that runs several.
#[derive(Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) name: &'a Name,
    pub(crate) op: &'a Op,
    /// Whether it is of the same name as the one before it, and runs on the same state.
    pub(crate) joins: bool,
}

/// `first` precedes the operations of each name, with its parameter.
pub(crate) fn evaluate<'a, 'b>(
    cmd: &'a mut Cmd,
    scripts: &Scripts,
    member: MemberId,
    first: Option<(u8, u64)>,
    parts: impl Iterator<Item = Part<'b>> + Clone,
) -> &'a mut Cmd {
    let [digest, _] = scripts.digests();
    let names = parts.clone().filter(|part| !part.joins);
    cmd.arg("EVALSHA").arg(digest).arg(names.clone().count());
    for part in names.clone() {
        key_of(cmd, part.name, "");
    }
    if names.count() > 1 {
        let mut counts = cmd.writer_for_next_arg();
        let mut rest = parts.clone();
        while rest.next().is_some() {
            let joined = rest.clone().take_while(|next| next.joins).count();
            rest.by_ref().take(joined).for_each(drop);
            let count = usize::from(first.is_some()) + 1 + joined;
            put(&mut counts, &[count.try_into().unwrap_or(u8::MAX)]);
        }
    }
    let mut rest = parts;
    while let Some(part) = rest.next() {
        if !part.joins
            && let Some((code, parameter)) = first
        {
            let mut out = cmd.writer_for_next_arg();
            put(&mut out, &[code]);
            double(&mut out, parameter);
        }
        let next = rest.clone().next().filter(|next| next.joins);
        let is_followed = next.is_some_and(|next| has_code(next.op));
        write(&mut cmd.writer_for_next_arg(), member, part.op, is_followed);
    }
    cmd
}

pub(crate) fn key_of(cmd: &mut Cmd, name: &Name, suffix: &str) {
    let mut key = cmd.writer_for_next_arg();
    for part in [KEY, name.as_str(), "}", suffix] {
        put(&mut key, part.as_bytes());
    }
}

/// Whether the text of the operation is more than the ids.
fn has_code(op: &Op) -> bool {
    match op {
        Op::Release {
            park, tomb, used, ..
        } => !park.is_zero() || *tomb || *used > 0,
        _ => true,
    }
}

fn code_of(op: &Op) -> u8 {
    match op {
        Op::Acquire { mode, .. } => match mode {
            Mode::Queue => code::ACQUIRE,
            Mode::Try => code::TRY,
        },
        Op::Touch { .. } => code::TOUCH,
        Op::Release { .. } => code::RELEASE,
        Op::Adopt { .. } => code::ADOPT,
        Op::Force => code::FORCE,
        Op::Kick { .. } => code::KICK,
        Op::Raise { .. } => code::RAISE,
        Op::Signal { .. } => code::SIGNAL,
        Op::Delete => code::DELETE,
        Op::Probe { .. } => code::PROBE,
        Op::Inspect { .. } => code::INSPECT,
    }
}

/// `is_followed`: another operation on the name, which names the member, follows.
fn write(out: &mut impl Write, member: MemberId, op: &Op, is_followed: bool) {
    match op.ticket() {
        Some(ticket) => put(out, ticket.as_bytes()),
        None => put(out, &[0; 16]),
    }
    let has_code = has_code(op);
    if has_code || !is_followed {
        put(out, member.as_bytes());
    }
    if !has_code {
        return;
    }
    let code = code_of(op);
    match op {
        Op::Acquire {
            lease, share, meta, ..
        } => {
            let is_short = lease.place == lease.hold && (share.units, share.capacity) == (1, 1);
            let long = if is_short { 0 } else { code::LONG };
            let kind = u8::from(share.takes()) + 2 * lease.retain as u8;
            put(out, &[code + kind + long]);
            number(out, lease.counter);
            number(out, millis(lease.hold));
            if !is_short {
                number(out, millis(lease.place));
                number(out, share.units.into());
                number(out, share.capacity.into());
            }
            put(out, meta.as_bytes());
        }
        Op::Touch { lease, units } => {
            put(out, &[code]);
            number(out, lease.counter);
            number(out, millis(lease.hold));
            if lease.place != lease.hold || *units > 0 || lease.retain != Retain::No {
                number(out, millis(lease.place));
                number(out, (*units).into());
                put(out, &[lease.retain as u8]);
            }
        }
        Op::Release {
            park, tomb, used, ..
        } => {
            put(out, &[code]);
            number(out, millis(*park));
            double(out, *used);
            put(out, &[(*tomb).into()]);
        }
        Op::Adopt { old, lease, meta } => {
            put(out, &[code]);
            number(out, lease.counter);
            number(out, millis(lease.hold));
            number(out, millis(lease.place));
            put(out, old.as_bytes());
            put(out, meta.as_bytes());
        }
        Op::Raise { token, .. } => {
            put(out, &[code]);
            double(out, *token);
        }
        Op::Kick { token, by } => {
            put(out, &[code]);
            double(out, *token);
            put(out, by.as_bytes());
        }
        Op::Signal { signal, .. } => {
            let (kind, text) = match signal {
                Signal::Token(text) => (0, &**text),
                Signal::One => (1, ""),
                Signal::All => (2, ""),
            };
            put(out, &[code, kind]);
            put(out, text.as_bytes());
        }
        Op::Probe { to, text } => {
            put(out, &[code]);
            put(out, to.as_bytes());
            put(out, text.as_bytes());
        }
        Op::Inspect { above } => {
            put(out, &[code]);
            number(out, (*above).into());
        }
        Op::Force | Op::Delete => put(out, &[code]),
    }
}

// Writing to a command cannot fail.
fn put(out: &mut impl Write, bytes: &[u8]) {
    let _ = out.write_all(bytes);
}

/// Four bytes: at most 49 days, or as many requests of a ticket.
fn number(out: &mut impl Write, number: u64) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    put(out, &number.to_le_bytes());
}

fn double(out: &mut impl Write, number: u64) {
    put(out, &(number as f64).to_le_bytes());
}
