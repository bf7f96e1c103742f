//! Encodes operations as a command for the server: [`evaluate`]. `scripts/head.lua` describes the encoding of each operation.

use std::io::Write as _;
use std::time::Duration;

use super::scripts::{Script, Scripts, code};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op, Share, Signal, Ticket};
use crate::wire::{self, Words};

/// The prefix of a name in its keys; the hash tag keeps all keys of the name in one slot.
pub(super) const KEY: &str = "auto_mutex:{";
/// The prefix of a member's channel.
pub(super) const CHANNEL: &str = "auto_mutex:member:";
/// The infix between the first key of a name and a member, in the name of a shard channel.
pub(super) const SHARD_CHANNEL: &str = ":member:";

/// The suffix of the key with the lock order of a namespace: a hash, so that it is none of the keys of a lock.
pub(super) const EDGES: &str = ":edges";

/// The channel of a member.
pub(super) fn channel(member: MemberId) -> String {
    format!("{CHANNEL}{member}")
}

/// A member's channel for one name, in the slot of the name's keys.
pub(super) fn shard_channel(name: &Name, member: MemberId) -> String {
    format!("{KEY}{name}}}{SHARD_CHANNEL}{member}")
}

/// The first key of a name.
#[cfg(repository)]
#[cfg(test)]
pub(super) fn key(name: &Name) -> String {
    format!("{KEY}{name}}}")
}

/// Appends an EVALSHA that runs operations of `member` in this order. The script grants nothing before `opens`.
pub(super) fn evaluate(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    ops: &[&Op],
    opens: u64,
) {
    if let [
        Op::Order {
            since,
            edges,
            claims,
        },
    ] = ops
    {
        let digest = scripts.digest(Script::Order);
        return wire::command(out, |words| {
            words.texts(&["EVALSHA", digest, "1"]);
            key_of(words, name, EDGES);
            words.word(member);
            words.number(*since);
            words.number(edges.len() as u64);
            for (field, text) in edges.iter() {
                words.texts(&[field, text]);
            }
            for claim in claims.iter() {
                words.text(claim);
            }
        });
    }
    wire::command(out, |words| {
        begin(words, scripts, name);
        words.built(|out| {
            if opens > 0 {
                out.push(code::UNTIL);
            }
            out.extend(ops.iter().map(|op| code_of(op)));
        });
        if opens > 0 {
            words.built(|out| number(out, opens));
        }
        for op in ops {
            words.built(|out| write(out, member, op));
        }
    });
}

/// The same for one operation. After it, all tickets are in the other keys, however few they are.
pub(super) fn evaluate_spread(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    op: &Op,
) {
    wire::command(out, |words| {
        begin(words, scripts, name);
        words.built(|out| out.extend([code::SPREAD, code_of(op)]));
        words.text("");
        words.built(|out| write(out, member, op));
    });
}

fn begin(words: &mut Words<'_>, scripts: &Scripts, name: &Name) {
    words.texts(&["EVALSHA", scripts.digest(Script::Locks), "1"]);
    key_of(words, name, "");
}

/// One of the keys of a name.
pub(super) fn key_of(words: &mut Words<'_>, name: &Name, suffix: &str) {
    words.joined(&[KEY, name.as_str(), "}", suffix]);
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
        Op::Force { .. } => code::FORCE,
        Op::Kick { .. } => code::KICK,
        Op::Refresh { .. } => code::REFRESH,
        Op::Raise { .. } => code::RAISE,
        Op::Signal { .. } => code::SIGNAL,
        Op::Delete => code::DELETE,
        Op::Probe { .. } => code::PROBE,
        // The order of locks has a script of its own.
        Op::Inspect | Op::Order { .. } => code::INSPECT,
    }
}

/// Appends the script's arguments for an operation of `member`.
fn write(out: &mut Vec<u8>, member: MemberId, op: &Op) {
    write_ids(out, op.ticket(), member);
    match op {
        Op::Acquire {
            counter,
            share,
            hold,
            place,
            meta,
            ..
        } => {
            spoken(out, *counter, *hold, *place);
            write_share(out, share);
            out.extend_from_slice(meta.as_bytes());
        }
        Op::Touch {
            counter,
            units,
            hold,
            place,
            ..
        } => {
            spoken(out, *counter, *hold, *place);
            number(out, (*units).into());
        }
        Op::Release {
            park, tomb, used, ..
        } => {
            if !park.is_zero() || *tomb || *used > 0 {
                number(out, millis(*park));
                number(out, *used);
                out.push((*tomb).into());
            }
        }
        Op::Adopt {
            old,
            counter,
            hold,
            place,
            meta,
            ..
        } => {
            spoken(out, *counter, *hold, *place);
            let _ = write!(out, "{old}");
            out.extend_from_slice(meta.as_bytes());
        }
        Op::Force { owner } => out.extend_from_slice(owner.as_bytes()),
        Op::Refresh { owner, expire } => {
            number(out, millis(*expire));
            out.extend_from_slice(owner.as_bytes());
        }
        Op::Raise { token, .. } | Op::Kick { token } => number(out, *token),
        Op::Signal { signal, .. } => write_signal(out, signal),
        Op::Probe { to, text } => {
            let _ = write!(out, "{to}{}", &**text);
        }
        Op::Delete | Op::Inspect | Op::Order { .. } => {}
    }
}

fn write_ids(out: &mut Vec<u8>, ticket: Option<Ticket>, member: MemberId) {
    // Writing to a Vec cannot fail.
    let _ = match ticket {
        Some(ticket) => write!(out, "{ticket}{member}"),
        None => write!(out, "{:032}{member}", 0),
    };
}

fn write_share(out: &mut Vec<u8>, share: &Share) {
    number(out, share.units.into());
    number(out, share.capacity.into());
    out.push(share.takes.into());
    out.extend_from_slice(&(share.owner.len() as u32).to_le_bytes());
    out.extend_from_slice(share.owner.as_bytes());
}

fn write_signal(out: &mut Vec<u8>, signal: &Signal) {
    match signal {
        Signal::Token(token) => {
            out.push(0);
            out.extend_from_slice(token.as_bytes());
        }
        Signal::One => out.push(1),
        Signal::All => out.push(2),
    }
}

fn spoken(out: &mut Vec<u8>, counter: u64, hold: Duration, place: Duration) {
    number(out, counter);
    number(out, millis(hold));
    number(out, millis(place));
}

fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&(number as f64).to_le_bytes());
}

/// Whole milliseconds on the wire.
fn millis(duration: Duration) -> u64 {
    // Far beyond every lease, and still exact in Lua when microseconds are added.
    const MOST: u128 = 1 << 42;
    duration.as_millis().min(MOST) as u64
}
