//! The replies of Redis (RESP2).

use std::fmt;
use std::io::{self, BufRead};

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A null.
    Nil,
    /// A number.
    Int(i64),
    /// A text, a status or bytes (invalid UTF-8 is replaced).
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// An error of the server inside a list. Any other error of the server is the `Err` of the call.
    Error(String),
}

impl Value {
    pub(super) fn read(from: &mut impl BufRead) -> io::Result<Self> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some(line) = line.strip_suffix("\r\n") else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let Some((kind, rest)) = line.split_at_checked(1) else {
            return Err(invalid("an empty line"));
        };
        let number = || rest.parse::<i64>().map_err(|_| invalid(line));
        Ok(match kind {
            "+" => Self::Text(rest.to_owned()),
            "-" => Self::Error(rest.to_owned()),
            ":" => Self::Int(number()?),
            "$" => match usize::try_from(number()?) {
                Err(_) => Self::Nil,
                Ok(length) => {
                    let mut bytes = vec![0; length + 2];
                    from.read_exact(&mut bytes)?;
                    bytes.truncate(length);
                    Self::Text(String::from_utf8_lossy(&bytes).into_owned())
                }
            },
            "*" => match usize::try_from(number()?) {
                Err(_) => Self::Nil,
                Ok(length) => Self::List(
                    (0..length)
                        .map(|_| Self::read(from))
                        .collect::<io::Result<_>>()?,
                ),
            },
            _ => return Err(invalid(line)),
        })
    }

    /// The value as a number; panics if it is not a number.
    #[track_caller]
    pub fn int(&self) -> i64 {
        match self {
            Self::Int(number) => *number,
            Self::Text(text) => text.parse().expect("a number"),
            other => panic!("no number: {other:?}"),
        }
    }

    /// The value as a text; panics if it is not a text.
    #[track_caller]
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            other => panic!("no text: {other:?}"),
        }
    }

    /// The value as a list; panics if it is not a list.
    #[track_caller]
    pub fn list(&self) -> &[Value] {
        match self {
            Self::List(list) => list,
            other => panic!("no list: {other:?}"),
        }
    }

    /// The items of the list as texts; panics if the value is not a list.
    #[track_caller]
    pub fn texts(&self) -> Vec<String> {
        self.list().iter().map(|item| item.to_string()).collect()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Int(number) => number.fmt(f),
            Self::Text(text) | Self::Error(text) => f.write_str(text),
            Self::List(list) => f.debug_list().entries(list).finish(),
        }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not RESP2: {what}"))
}
