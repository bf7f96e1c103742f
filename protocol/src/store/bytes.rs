//! A [`State`] as bytes, for stores that only compare and set: [`State::encode`] and [`State::decode`].
//!
//! Version 1: a byte with the version, then the fields in the order of [`write`], whose numbers are [LEB128]. Times are
//! distances from the moment of encoding, because the next reader may have another clock. Tokens are counters: they
//! stay.
//!
//! [LEB128]: https://en.wikipedia.org/wiki/LEB128

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::{Flag, Record, State};
use crate::op::MOST_MS;
use crate::{KickRecord, MemberId, Retain, SharedStr, TOKENS_END, Ticket};

/// The most bytes of a state.
const MOST: usize = 1 << 20;
const VERSION: u8 = 1;

/// Why bytes are no state, or a state has no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BytesError {
    /// It has more than a mebibyte: too many tickets or signals.
    TooLong,
    /// A later program wrote it, in this version.
    Version(u8),
    /// No program of ours wrote it.
    Malformed,
}

impl fmt::Display for BytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the state of the lock is longer than a mebibyte"),
            Self::Version(version) => write!(
                f,
                "the state of the lock has version {version}, which a later program wrote: update this one"
            ),
            Self::Malformed => f.write_str("the state of the lock is damaged"),
        }
    }
}

impl core::error::Error for BytesError {}

impl State {
    /// Encodes the state at the store's time `at`, in microseconds.
    pub fn encode(&self, at: u64) -> Result<Vec<u8>, BytesError> {
        let mut bytes = Vec::from([VERSION]);
        write(&mut bytes, self, at);
        match bytes.len() {
            0..=MOST => Ok(bytes),
            _ => Err(BytesError::TooLong),
        }
    }

    /// Decodes a state that was encoded at `at`, by the clock that is used from now on.
    pub fn decode(bytes: &[u8], at: u64) -> Result<Self, BytesError> {
        match bytes {
            _ if bytes.len() > MOST => Err(BytesError::TooLong),
            [VERSION, bytes @ ..] => {
                let state = Reader { bytes, at }.state();
                state.ok_or(BytesError::Malformed)
            }
            [version, ..] if *version > VERSION => Err(BytesError::Version(*version)),
            _ => Err(BytesError::Malformed),
        }
    }
}

fn write(to: &mut Vec<u8>, state: &State, at: u64) {
    number(to, state.token);
    number(
        to,
        state.capacity.map_or(0, |capacity| 1 + u64::from(capacity)),
    );
    time(to, state.places, at);
    time(to, state.clock, at);
    to.push(state.known.into());
    number(to, state.signals.len() as u64);
    for (place, signal) in &state.signals {
        number(to, *place);
        text(to, signal);
    }
    number(to, state.last_signal);
    number(to, state.held.len() as u64);
    for (until, ticket) in &state.held {
        time(to, *until, at);
        record(to, *ticket, state, at);
    }
    for line in [&state.queue, &state.quiet] {
        number(to, line.len() as u64);
        for ticket in line.values() {
            record(to, *ticket, state, at);
        }
    }
    number(to, state.gone.len() as u64);
    for (ticket, until) in &state.gone {
        to.extend(ticket.as_bytes());
        time(to, *until, at);
    }
    to.push(state.kick.is_some().into());
    if let Some(kick) = &state.kick {
        time(to, kick.at, at);
        number(to, kick.token);
        text(to, &kick.by);
    }
}

fn record(to: &mut Vec<u8>, ticket: Ticket, state: &State, at: u64) {
    let record = &state.records[&ticket];
    let has_own_capacity = state.capacity != Some(record.capacity);
    to.extend(ticket.as_bytes());
    to.extend(record.member.as_bytes());
    let flag = match record.flag {
        Flag::Plain => 0,
        Flag::Provisional => 1,
        Flag::Parked => 2,
    };
    let retain = match record.retain {
        Retain::No => 0,
        Retain::InUse => 1,
        Retain::Kept => 2,
    };
    to.push(
        flag | retain << 2
            | u8::from(record.takes) << 4
            | u8::from(record.signal.is_some()) << 5
            | u8::from(has_own_capacity) << 6,
    );
    for moment in [record.place, record.heard] {
        time(to, moment, at);
    }
    // Zero if it was not notified.
    to.push((record.told > 0).into());
    if record.told > 0 {
        time(to, record.told, at);
    }
    let units = u64::from(record.units);
    for value in [
        units,
        record.hold_ms,
        record.place_ms,
        record.counter,
        record.token,
    ] {
        number(to, value);
    }
    if let Some((place, signal)) = &record.signal {
        number(to, *place);
        text(to, signal);
    }
    if has_own_capacity {
        number(to, record.capacity.into());
    }
    text(to, &record.meta);
}

fn number(to: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// The sign is the lowest bit, so that small distances are short.
fn time(to: &mut Vec<u8>, moment: u64, at: u64) {
    let past = moment < at;
    number(to, moment.abs_diff(at) << 1 | u64::from(past));
}

fn text(to: &mut Vec<u8>, text: &str) {
    number(to, text.len() as u64);
    to.extend(text.bytes());
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl<'a> Reader<'a> {
    fn state(mut self) -> Option<State> {
        let mut state = State {
            token: self.token()?,
            capacity: match self.number()? {
                0 => None,
                more => Some(u32::try_from(more - 1).ok()?),
            },
            places: self.time()?,
            clock: self.time()?,
            known: self.flag()?,
            ..State::default()
        };
        for _ in 0..self.number()? {
            let (place, signal) = (self.token()?, self.text()?);
            state.signals.insert(place, signal.into());
        }
        state.last_signal = self.token()?;
        for _ in 0..self.number()? {
            let until = self.time()?;
            let (ticket, record) = self.record(true, state.capacity)?;
            state.held.push((until, ticket));
            state
                .records
                .insert(ticket, record)
                .is_none()
                .then_some(())?;
        }
        for line in [&mut state.queue, &mut state.quiet] {
            for _ in 0..self.number()? {
                let (ticket, record) = self.record(false, state.capacity)?;
                line.insert(record.place, ticket);
                state
                    .records
                    .insert(ticket, record)
                    .is_none()
                    .then_some(())?;
            }
        }
        let lines = state.held.len() + state.queue.len() + state.quiet.len();
        // Otherwise two tickets have one place.
        (state.records.len() == lines).then_some(())?;
        for _ in 0..self.number()? {
            let (ticket, until) = (Ticket::from_bytes(self.array()?), self.time()?);
            state.gone.insert(ticket, until);
        }
        if self.flag()? {
            state.kick = Some(Box::new(KickRecord {
                at: self.time()?,
                token: self.token()?,
                by: self.shared()?,
            }));
        }
        self.bytes.is_empty().then_some(state)
    }

    fn record(&mut self, holds: bool, capacity: Option<u32>) -> Option<(Ticket, Record)> {
        let (ticket, member) = (
            Ticket::from_bytes(self.array()?),
            MemberId::from_bytes(self.array()?),
        );
        let [bits] = self.array()?;
        let (place, heard) = (self.time()?, self.time()?);
        let told = if self.flag()? { self.time()?.max(1) } else { 0 };
        let record = Record {
            place,
            heard,
            told,
            units: u32::try_from(self.number()?).ok()?,
            hold_ms: self.millis()?,
            place_ms: self.millis()?,
            counter: self.number()?,
            token: self.token()?,
            takes: bits & 1 << 4 != 0,
            signal: match bits & 1 << 5 {
                0 => None,
                _ => Some((self.token()?, Arc::from(self.text()?))),
            },
            flag: match bits & 3 {
                0 => Flag::Plain,
                1 => Flag::Provisional,
                2 => Flag::Parked,
                _ => return None,
            },
            retain: match bits >> 2 & 3 {
                0 => Retain::No,
                1 => Retain::InUse,
                2 => Retain::Kept,
                _ => return None,
            },
            member,
            capacity: match bits & 1 << 6 {
                0 => capacity?,
                _ => u32::try_from(self.number()?).ok()?,
            },
            meta: self.shared()?,
        };
        let is_waiter = record.token == 0 && record.flag == Flag::Plain && record.signal.is_none();
        (bits >> 7 == 0 && is_waiter != holds).then_some((ticket, record))
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*array)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.array()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let part = u64::from(byte & 0x7f);
            // Neither bits that are lost, nor more bytes than needed: one state has one text.
            (part << shift >> shift == part && (part > 0 || shift == 0 || byte > 0x7f))
                .then_some(())?;
            value |= part << shift;
            if byte <= 0x7f {
                return Some(value);
            }
        }
        None
    }

    fn time(&mut self) -> Option<u64> {
        let value = self.number()?;
        let distance = value >> 1;
        let moment = match value & 1 {
            0 => self.at.checked_add(distance)?,
            _ => self.at.saturating_sub(distance),
        };
        (moment < TOKENS_END).then_some(moment)
    }

    /// A token, or the number of a signal: some more can follow each of them.
    fn token(&mut self) -> Option<u64> {
        self.number().filter(|token| *token < TOKENS_END)
    }

    fn millis(&mut self) -> Option<u64> {
        self.number().filter(|ms| *ms <= MOST_MS)
    }

    fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        core::str::from_utf8(text).ok()
    }

    fn shared(&mut self) -> Option<SharedStr> {
        Some(match self.text()? {
            "" => SharedStr::EMPTY,
            text => String::from(text).into(),
        })
    }
}
