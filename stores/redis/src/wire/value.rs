//! [`Value`]: a reply or push, borrowed from the receive buffer. `inbox.rs` has found its end.

use std::borrow::Cow;

/// The maximum nesting of values; replies use four levels.
pub(super) const DEEPEST: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Nil,
    Integer(i64),
    /// Strings of all kinds, and numbers that fit no integer.
    Text(&'a [u8]),
    /// For a map, keys and values in turn, as some servers reply although RESP3 has maps.
    List(Vec<Value<'a>>),
    Error(ErrorReply<'a>),
    Push(Vec<Value<'a>>),
}

impl Value<'_> {
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_number(&self) -> Option<u64> {
        match self {
            Self::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.as_list()?.chunks_exact(2);
        let found = fields.find(|field| field[0] == Value::Text(name.as_bytes()))?;
        found[1].as_text()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrorReply<'a> {
    pub(crate) code: Cow<'a, str>,
    pub(crate) details: Cow<'a, str>,
}

impl<'a> ErrorReply<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the server sent is not the Redis protocol, or too large")]
pub(crate) struct Garbage;

pub(super) fn parse(bytes: &[u8]) -> Result<Value<'_>, Garbage> {
    let mut rest = bytes;
    let value = value(&mut rest, 0)?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(Garbage)
    }
}

fn value<'a>(rest: &mut &'a [u8], depth: usize) -> Result<Value<'a>, Garbage> {
    if depth > DEEPEST {
        return Err(Garbage);
    }
    let (kind, after) = rest.split_first().ok_or(Garbage)?;
    *rest = after;
    Ok(match kind {
        b'+' | b',' | b'(' => Value::Text(line(rest)?),
        b'-' => Value::Error(ErrorReply::new(line(rest)?)),
        b':' => Value::Integer(number(line(rest)?)?),
        b'#' => match line(rest)? {
            b"t" => Value::Integer(1),
            b"f" => Value::Integer(0),
            _ => return Err(Garbage),
        },
        b'_' if line(rest)?.is_empty() => Value::Nil,
        b'$' | b'*' if rest.starts_with(b"-1\r\n") => {
            *rest = &rest[4..];
            Value::Nil
        }
        b'$' => Value::Text(bulk(rest)?),
        b'!' => Value::Error(ErrorReply::new(bulk(rest)?)),
        // A verbatim string has a prefix of three letters for its format.
        b'=' => match bulk(rest)? {
            [_, _, _, b':', text @ ..] => Value::Text(text),
            _ => return Err(Garbage),
        },
        b'*' | b'~' => Value::List(values(rest, 1, depth + 1)?),
        b'>' if depth == 0 => Value::Push(values(rest, 1, depth + 1)?),
        b'%' => Value::List(values(rest, 2, depth + 1)?),
        b'|' => {
            values(rest, 2, depth + 1)?;
            value(rest, depth + 1)?
        }
        _ => return Err(Garbage),
    })
}

/// `each` is the number of values per counted item.
fn values<'a>(rest: &mut &'a [u8], each: usize, depth: usize) -> Result<Vec<Value<'a>>, Garbage> {
    let count = count(rest)?.saturating_mul(each);
    // Each value takes at least three bytes, which limits the allocation for an announced count.
    let mut values = Vec::with_capacity(count.min(rest.len() / 3));
    for _ in 0..count {
        values.push(value(rest, depth)?);
    }
    Ok(values)
}

fn bulk<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Garbage> {
    let length = count(rest)?;
    let (text, after) = rest.split_at_checked(length).ok_or(Garbage)?;
    *rest = after.strip_prefix(b"\r\n").ok_or(Garbage)?;
    Ok(text)
}

fn count(rest: &mut &[u8]) -> Result<usize, Garbage> {
    usize::try_from(number(line(rest)?)?).map_err(|_| Garbage)
}

fn line<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Garbage> {
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(Garbage)?;
    let (line, after) = (&rest[..end], &rest[end + 1..]);
    *rest = after;
    line.strip_suffix(b"\r").ok_or(Garbage)
}

pub(super) fn number(line: &[u8]) -> Result<i64, Garbage> {
    std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.parse().ok())
        .ok_or(Garbage)
}
