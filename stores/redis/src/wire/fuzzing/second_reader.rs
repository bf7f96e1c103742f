//! Compares our RESP3 parser with that of the redis crate: both must read a value that ours accepts in the same way.
//!
//! The two differ on purpose for input that no server sends:
//!
//! - Ours accepts any bytes as text, as a double and as a big number, and pushes of any kind. The other requires UTF-8
//!   in a line, a number as a double and, with its feature `num-bigint`, as a big number, and a text as the kind of a
//!   push.
//! - Ours expects a verbatim text's format to be three letters. The other expects it to end at the first colon.
//! - The other accepts blanks around numbers, any negative length as nil, a bare `
//! ` within a line, a push within a value, and deeper values.

use super::super::inbox::Frame;
use super::super::value::{DEEPEST, Garbage, Value, parse};

/// Reads `bytes` with both parsers, value by value, and fails where the results differ.
pub(crate) fn compare(mut bytes: &[u8]) {
    while let Ok(Some(length)) = Frame::new().look(bytes) {
        let (value, rest) = bytes.split_at(length);
        compare_one(value, parse(value));
        bytes = rest;
    }
    compare_one(bytes, Err(Garbage));
}

fn compare_one(bytes: &[u8], ours: Result<Value<'_>, Garbage>) {
    let shown = String::from_utf8_lossy(bytes);
    match (ours, redis::parse_redis_value(bytes)) {
        (Ok(ours), Ok(theirs)) => {
            assert!(
                is_same(&ours, &theirs),
                "{shown:?}: {ours:?}, theirs {theirs:?}"
            );
        }
        (Ok(ours), Err(error)) => {
            let any_text =
                std::str::from_utf8(bytes).is_err() || bytes.iter().any(|it| b",(".contains(it));
            let mut lines = bytes.split(|byte| *byte == b'\n').skip(1);
            let any_kind =
                matches!(ours, Value::Push(_)) && !matches!(lines.next(), Some([b'+' | b'$', ..]));
            assert!(any_text || any_kind, "{shown:?}: {ours:?}, theirs {error}");
        }
        (Err(_), Ok(theirs)) => {
            let mut written = Vec::new();
            let plain = write(&theirs, 0, &mut written);
            assert!(
                plain.is_none() || !bytes.starts_with(&written),
                "{shown:?}: refused, theirs {theirs:?}"
            );
        }
        (Err(_), Err(_)) => {}
    }
}

fn is_same(ours: &Value<'_>, theirs: &redis::Value) -> bool {
    let all = |ours: &[Value<'_>], theirs: &[redis::Value]| {
        ours.len() == theirs.len()
            && ours
                .iter()
                .zip(theirs)
                .all(|(ours, theirs)| is_same(ours, theirs))
    };
    match (ours, theirs) {
        (ours, redis::Value::Attribute { data, .. }) => is_same(ours, data),
        (Value::Nil, redis::Value::Nil) => true,
        (Value::Integer(ours), redis::Value::Int(theirs)) => ours == theirs,
        (Value::Integer(ours), redis::Value::Boolean(theirs)) => *ours == i64::from(*theirs),
        (Value::Text(ours), redis::Value::BulkString(theirs)) => ours == theirs,
        (Value::Text(ours), redis::Value::SimpleString(theirs)) => *ours == theirs.as_bytes(),
        (Value::Text(ours), redis::Value::Okay) => *ours == b"OK",
        (Value::Text(ours), redis::Value::Double(theirs)) => {
            let ours = std::str::from_utf8(ours).unwrap_or_default();
            let ours = ours.trim().parse::<f64>();
            ours.is_ok_and(|ours| ours == *theirs || ours.is_nan() && theirs.is_nan())
        }
        (Value::Text(ours), redis::Value::VerbatimString { text, .. }) => {
            text.ends_with(&*String::from_utf8_lossy(ours))
        }
        // Big numbers are not compared, because a feature of the redis crate, which another crate may enable, changes
        // their type.
        (Value::Text(_), redis::Value::BigNumber(_)) => true,
        (Value::List(ours), redis::Value::Array(theirs) | redis::Value::Set(theirs)) => {
            all(ours, theirs)
        }
        (Value::List(ours), redis::Value::Map(theirs)) => {
            let pairs = ours.chunks_exact(2).zip(theirs);
            ours.len() == 2 * theirs.len()
                && pairs.into_iter().all(|(ours, theirs)| {
                    is_same(&ours[0], &theirs.0) && is_same(&ours[1], &theirs.1)
                })
        }
        (Value::Error(ours), redis::Value::ServerError(theirs)) => {
            ours.code == theirs.code() && ours.details == theirs.details().unwrap_or_default()
        }
        (Value::Push(ours), redis::Value::Push { kind, data }) => match ours.split_first() {
            Some((Value::Text(first), rest)) => {
                *first == kind.to_string().as_bytes() && all(rest, data)
            }
            _ => ours.is_empty() && data.is_empty(),
        },
        _ => false,
    }
}

/// Encodes a value as servers do. `None` if servers can encode it in several ways, or our parser refuses it on purpose.
fn write(value: &redis::Value, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    if depth > DEEPEST {
        return None;
    }
    let mut begin = |kind: char, what: &dyn std::fmt::Display| {
        out.extend_from_slice(format!("{kind}{what}\r\n").as_bytes());
    };
    match value {
        redis::Value::Int(number) => begin(':', number),
        redis::Value::Boolean(true) => begin('#', &'t'),
        redis::Value::Boolean(false) => begin('#', &'f'),
        redis::Value::Okay => begin('+', &"OK"),
        redis::Value::SimpleString(text) if !text.contains('\n') => begin('+', text),
        redis::Value::BulkString(bytes) => {
            begin('$', &bytes.len());
            out.extend_from_slice(bytes);
            out.extend_from_slice(b"\r\n");
        }
        redis::Value::Array(values) => {
            begin('*', &values.len());
            for value in values {
                write(value, depth + 1, out)?;
            }
        }
        redis::Value::Map(pairs) => {
            begin('%', &pairs.len());
            for (key, value) in pairs {
                write(key, depth + 1, out)?;
                write(value, depth + 1, out)?;
            }
        }
        _ => return None,
    }
    Some(())
}
