//! Asks for the settings of a server, and reads them. Distinguishes a missing right from a command that the server refuses to
//! every user.

use super::super::error::Code;
use crate::wire::Value;

/// Why a server does not report a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Withheld {
    /// The user lacks the right.
    Right,
    /// No user has the right, or the answer is empty: the command is disabled or renamed, for example CONFIG on managed
    /// services.
    Disabled,
}

/// Appends CONFIG GET of one setting.
pub(in super::super) fn ask(out: &mut Vec<u8>, name: &str) {
    let mut get = redis::cmd("CONFIG");
    get.arg("GET").arg(name).write_packed_command(out);
}

/// Reads the reply to [`ask`]. Some servers reply with a list although RESP3 has maps.
pub(in super::super) fn config(reply: &Value<'_>) -> Result<String, Withheld> {
    let value = match reply {
        Value::Map(pairs) => pairs.first().map(|(_, value)| value),
        Value::List(words) => words.get(1),
        other => Some(other),
    };
    value.map_or(Err(Withheld::Disabled), text)
}

/// Reads a reply that is a text.
pub(in super::super) fn text(reply: &Value<'_>) -> Result<String, Withheld> {
    match reply {
        Value::Text(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Value::Error(refused) if Code::of(refused) == Code::NoPerm => Err(Withheld::Right),
        _ => Err(Withheld::Disabled),
    }
}
