//! The messages of PostgreSQL's protocol, as far as the proxy has to understand them.

use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// A message with its kind and length, as it was sent.
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let kind = from.read_u8().await?;
        Self::rest(from, vec![kind]).await
    }

    /// The first message of a connection has no kind.
    pub(super) async fn read_first(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        Self::rest(from, Vec::new()).await
    }

    async fn rest(from: &mut (impl AsyncRead + Unpin), mut bytes: Vec<u8>) -> io::Result<Self> {
        let length = from.read_u32().await?;
        bytes.extend(length.to_be_bytes());
        let read = from.take(u64::from(length).saturating_sub(4));
        let read = { read }.read_to_end(&mut bytes).await?;
        match read + 4 == length as usize {
            true => Ok(Self(bytes)),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    pub(super) fn kind(&self) -> u8 {
        self.0[0]
    }

    /// The texts that the message begins with, each of which ends with a zero.
    pub(super) fn texts(&self) -> impl Iterator<Item = String> {
        let texts = self.0[5..].split(|byte| *byte == 0);
        texts.map(|text| String::from_utf8_lossy(text).into_owned())
    }

    /// The process of the server that serves the connection, of a `BackendKeyData`.
    pub(super) fn process(&self) -> Option<i32> {
        let bytes = self.0.get(5..9)?.try_into().ok()?;
        Some(i32::from_be_bytes(bytes))
    }

    /// Code and text of an `ErrorResponse`.
    pub(super) fn error(&self) -> String {
        let texts: Vec<_> = self.texts().collect();
        let field = |name| texts.iter().find_map(|text| text.strip_prefix(name));
        let (code, text) = (
            field('C').unwrap_or_default(),
            field('M').unwrap_or_default(),
        );
        format!("error {code}: {text}")
    }
}

/// What the server answers last to a unit.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Answer {
    /// Nothing that would be certain to come.
    Nothing,
    /// `ReadyForQuery`.
    Ready,
    /// The end of one statement among others.
    Done,
}

/// What is let through at once: a statement with all that comes before it, or messages that execute none.
pub(super) struct Unit {
    pub(super) bytes: Vec<u8>,
    pub(super) statement: Option<String>,
    pub(super) answer: Answer,
}

/// Cuts what a client sends into units.
#[derive(Default)]
pub(super) struct Units {
    /// By name; a portal has the statement that was bound to it last.
    statements: HashMap<String, String>,
    portals: HashMap<String, String>,
    /// A message that has been read already, but belongs to the next unit.
    next: Option<Message>,
}

impl Units {
    pub(super) async fn next(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<Unit> {
        let mut unit = Unit {
            bytes: Vec::new(),
            statement: None,
            answer: Answer::Nothing,
        };
        loop {
            let message = match self.next.take() {
                Some(message) => message,
                None => Message::read(from).await?,
            };
            let kind = message.kind();
            // An `Execute` ends its unit, with the `Sync` or `Flush` after it.
            if unit.statement.is_some() && !matches!(kind, b'S' | b'H') {
                self.next = Some(message);
                unit.bytes.extend(b"H\0\0\0\x04");
                unit.answer = Answer::Done;
                return Ok(unit);
            }
            unit.bytes.extend(&message.0);
            let mut texts = message
                .texts()
                .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            let mut text = || texts.next().unwrap_or_default();
            match kind {
                b'P' => drop(self.statements.insert(text(), text())),
                b'B' => {
                    let (portal, name) = (text(), text());
                    let statement = self.statements.get(&name).cloned();
                    self.portals.insert(portal, statement.unwrap_or(name));
                }
                b'E' => unit.statement = self.portals.get(&text()).cloned().or(Some(String::new())),
                b'Q' => (unit.statement, unit.answer) = (Some(text()), Answer::Ready),
                b'F' => {
                    (unit.statement, unit.answer) =
                        (Some("(function call)".to_owned()), Answer::Ready)
                }
                b'S' => unit.answer = Answer::Ready,
                b'H' if unit.statement.is_some() => unit.answer = Answer::Done,
                b'c' | b'f' => unit.answer = Answer::Done,
                _ => {}
            }
            if !matches!(kind, b'P' | b'B' | b'D' | b'C' | b'E') {
                return Ok(unit);
            }
        }
    }
}
