//! Makes a [`Value`] of bytes that hold a complete one.

use super::value::{ErrorReply, Garbage, Value};

/// How deep values may lie in one another; four levels are in use.
pub(super) const DEEPEST: usize = 16;

/// The value that `bytes` are.
pub(super) fn parse(bytes: &[u8]) -> Result<Value<'_>, Garbage> {
    let mut rest = bytes;
    let value = match rest.split_first() {
        Some((b'>', _)) => {
            rest = &rest[1..];
            let count = count(&mut rest)?;
            Value::Push(values(&mut rest, count, 1)?)
        }
        _ => value(&mut rest, 0)?,
    };
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
        // Three letters before the text say how to show it.
        b'=' => match bulk(rest)? {
            [_, _, _, b':', text @ ..] => Value::Text(text),
            _ => return Err(Garbage),
        },
        b'*' | b'~' => {
            let count = count(rest)?;
            Value::List(values(rest, count, depth + 1)?)
        }
        b'%' => Value::Map(pairs(rest, depth + 1)?),
        b'|' => {
            pairs(rest, depth + 1)?;
            value(rest, depth + 1)?
        }
        _ => return Err(Garbage),
    })
}

fn values<'a>(rest: &mut &'a [u8], count: usize, depth: usize) -> Result<Vec<Value<'a>>, Garbage> {
    // Each takes three bytes at least, so that what is announced is not believed.
    let mut values = Vec::with_capacity(count.min(rest.len() / 3));
    for _ in 0..count {
        values.push(value(rest, depth)?);
    }
    Ok(values)
}

type Pairs<'a> = Vec<(Value<'a>, Value<'a>)>;

fn pairs<'a>(rest: &mut &'a [u8], depth: usize) -> Result<Pairs<'a>, Garbage> {
    let count = count(rest)?;
    let mut pairs = Vec::with_capacity(count.min(rest.len() / 6));
    for _ in 0..count {
        pairs.push((value(rest, depth)?, value(rest, depth)?));
    }
    Ok(pairs)
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

/// An integer as the protocol writes it.
pub(super) fn number(line: &[u8]) -> Result<i64, Garbage> {
    std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.parse().ok())
        .ok_or(Garbage)
}
