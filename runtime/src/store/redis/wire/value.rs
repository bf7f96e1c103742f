//! [`Value`]: what a server says, borrowed from the buffer that it was read into.

use std::borrow::Cow;

/// One reply, one push, or a part of them.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) enum Value<'a> {
    Nil,
    Integer(i64),
    /// Strings of all kinds, and numbers that no integer can hold.
    Text(&'a [u8]),
    /// Arrays and sets.
    List(Vec<Value<'a>>),
    Map(Vec<(Value<'a>, Value<'a>)>),
    Error(ErrorReply<'a>),
    /// What nobody asked for.
    Push(Vec<Value<'a>>),
}

/// An error that the server answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct ErrorReply<'a> {
    /// The first word.
    pub(in super::super) code: Cow<'a, str>,
    pub(in super::super) details: Cow<'a, str>,
}

impl<'a> ErrorReply<'a> {
    pub(in super::super) fn new(line: &'a [u8]) -> Self {
        let end = line.iter().position(|byte| *byte == b' ');
        let (code, details) = match end {
            Some(end) => (&line[..end], &line[end + 1..]),
            None => (line, &line[line.len()..]),
        };
        Self {
            code: String::from_utf8_lossy(code),
            details: String::from_utf8_lossy(details),
        }
    }
}

/// What came is not RESP3, or more than is ever sent to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the server sent is not the Redis protocol, or too large")]
pub(in super::super) struct Garbage;
