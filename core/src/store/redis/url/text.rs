//! The texts in a URL: numbers and percent-encoding.

use percent_encoding::percent_decode_str;

use crate::error::SetupError;
use crate::name::is_escaped;
use crate::store::engine::invalid;

/// Parses the number of a database. An empty text means database 0.
pub(super) fn database(text: &str) -> Result<u32, SetupError> {
    // Redis stores the number of a database in a C `int`.
    match number::<u32>(text) {
        _ if text.is_empty() => Ok(0),
        Some(db) if i32::try_from(db).is_ok() => Ok(db),
        _ => Err(invalid("the database is not a number")),
    }
}

/// Parses a number of digits only. `FromStr` alone would also accept a sign.
pub(super) fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

pub(super) fn decode(text: &str) -> Result<String, SetupError> {
    // The decoder accepts a stray `%`. Here a stray `%` is an error, because it is a sign of a password that was not
    // escaped.
    if !is_escaped(text) {
        return Err(invalid(
            "a `%` is not followed by two hexadecimal digits; write `%25` for the character itself",
        ));
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(invalid("what is percent-encoded is not UTF-8")),
    }
}
