//! The short way: few arguments, in the bytes that the first key keeps (see `scripts/common/base.lua`).

use std::io::Write as _;
use std::time::Duration;

use super::millis;
use crate::store::redis::wire::Words;
use crate::store::{MemberId, Mode, Op};

/// The scripts of the short way keep a name for twenty minutes less some, ten of them for the token.
const LONGEST_HOLD: Duration = Duration::from_secs(300);
/// What a record keeps of who asks.
const LONGEST_META: usize = 512;

/// Whether `op` can be tried on the short way.
pub(super) fn takes(op: &Op) -> bool {
    match op {
        Op::Acquire {
            share, hold, meta, ..
        } => {
            share.owner.is_empty()
                && share.fits()
                && *hold <= LONGEST_HOLD
                && meta.len() <= LONGEST_META
        }
        Op::Touch { units, hold, .. } => *units == 0 && *hold <= LONGEST_HOLD,
        Op::Release {
            park, tomb, used, ..
        } => park.is_zero() && !tomb && *used == 0,
        _ => false,
    }
}

/// The arguments of an operation of `member` that takes the short way.
pub(super) fn write(words: &mut Words<'_>, member: MemberId, op: &Op) {
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
            let numbers = [
                *counter as f64,
                f64::from(share.units),
                f64::from(share.capacity),
                millis(*hold) as f64,
                millis(*place) as f64,
                f64::from(u8::from(share.takes)),
            ];
            words.built(|out| {
                // Writing to a Vec cannot fail.
                let _ = write!(out, "{ticket}");
                for number in numbers {
                    out.extend_from_slice(&number.to_le_bytes());
                }
                let _ = write!(out, "{member}");
                out.extend_from_slice(meta.as_bytes());
            });
            if *mode == Mode::Try {
                words.text("try");
            }
        }
        Op::Touch {
            ticket,
            counter,
            hold,
            place,
            ..
        } => {
            words.word(ticket);
            words.built(|out| {
                for number in [*counter, millis(*hold), millis(*place)] {
                    out.extend_from_slice(&(number as f64).to_le_bytes());
                }
            });
        }
        Op::Release { ticket, .. } => {
            words.word(ticket);
            words.word(member);
        }
        _ => {}
    }
}
