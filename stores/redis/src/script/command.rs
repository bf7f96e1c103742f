//! Encodes operations as a command for the server: [`evaluate`]. `script/head.lua` describes the encoding of each operation.

use std::io::Write;

use auto_mutex_seam::store::{Lease, MemberId, Mode, Name, Op, Retain, Signal, millis};
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
    for part in names {
        key_of(cmd, part.name, "");
    }
    let mut rest = parts;
    while let Some(part) = rest.next() {
        if !part.joins {
            let mut codes = cmd.writer_for_next_arg();
            if let Some((code, _)) = first {
                put(&mut codes, &[code]);
            }
            put(&mut codes, &[code_of(part.op)]);
            for next in rest.clone().take_while(|next| next.joins) {
                put(&mut codes, &[code_of(next.op)]);
            }
            drop(codes);
            if let Some((_, parameter)) = first {
                number(&mut cmd.writer_for_next_arg(), parameter);
            }
        }
        write(&mut cmd.writer_for_next_arg(), member, part.op);
    }
    cmd
}

pub(crate) fn key_of(cmd: &mut Cmd, name: &Name, suffix: &str) {
    let mut key = cmd.writer_for_next_arg();
    for part in [KEY, name.as_str(), "}", suffix] {
        put(&mut key, part.as_bytes());
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

fn write(out: &mut impl Write, member: MemberId, op: &Op) {
    let _ = match op.ticket() {
        Some(ticket) => write!(out, "{ticket}{member}"),
        None => write!(out, "{:032}{member}", 0),
    };
    match op {
        Op::Acquire {
            lease, share, meta, ..
        } => {
            write_lease(out, lease);
            number(out, share.units.into());
            number(out, share.capacity.into());
            put(out, &[u8::from(share.takes()) + 2 * lease.retain as u8]);
            put(out, meta.as_bytes());
        }
        Op::Touch { lease, units } => {
            write_lease(out, lease);
            number(out, (*units).into());
            if lease.retain != Retain::No {
                put(out, &[lease.retain as u8]);
            }
        }
        Op::Release {
            park, tomb, used, ..
        } => {
            if !park.is_zero() || *tomb || *used > 0 {
                number(out, millis(*park));
                number(out, *used);
                put(out, &[(*tomb).into()]);
            }
        }
        Op::Adopt { old, lease, meta } => {
            write_lease(out, lease);
            let _ = write!(out, "{old}");
            put(out, meta.as_bytes());
        }
        Op::Raise { token, .. } => number(out, *token),
        Op::Kick { token, by } => {
            number(out, *token);
            put(out, by.as_bytes());
        }
        Op::Signal { signal, .. } => match signal {
            Signal::Token(token) => {
                put(out, &[0]);
                put(out, token.as_bytes());
            }
            Signal::One => put(out, &[1]),
            Signal::All => put(out, &[2]),
        },
        Op::Probe { to, text } => {
            let _ = write!(out, "{to}{}", &**text);
        }
        Op::Inspect { above } => number(out, (*above).into()),
        Op::Force | Op::Delete => {}
    }
}

fn write_lease(out: &mut impl Write, lease: &Lease) {
    number(out, lease.counter);
    number(out, millis(lease.hold));
    number(out, millis(lease.place));
}

// Writing to a command cannot fail.
fn put(out: &mut impl Write, bytes: &[u8]) {
    let _ = out.write_all(bytes);
}

fn number(out: &mut impl Write, number: u64) {
    put(out, &(number as f64).to_le_bytes());
}
