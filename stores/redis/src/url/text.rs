//! The numbers in a URL.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::invalid;

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
