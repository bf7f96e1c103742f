//! Errors of servers and sockets, classified by how to handle them.

use std::error::Error as _;
use std::io;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{ConnectError, StoreErrorKind, Trouble};
use tokio_postgres::Error;
use tokio_postgres::error::DbError;

const RULES: &str = "pg_hba.conf has no rule for this client, or the user may not log in: the server's log says which. If the rules demand TLS, use `sslmode=require`";
const RIGHTS: &str = "permission denied: let an administrator run what `auto-mutex schema --postgres --only-rights --grant ROLE` prints";

/// What a server's code means for the request.
fn kind(code: &str) -> StoreErrorKind {
    match code {
        // The server ends, or is not the one to ask; or it has lost the functions, which a new connection finds out.
        // 26000: a pooler has passed the request to another process, which does not know the statement.
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25006" | "26000" | "3F000" | "42883"
        | "42P01" | "42703" => StoreErrorKind::Disconnected,
        _ if code.starts_with("08") => StoreErrorKind::Disconnected,
        // 53…: it lacks space, memory or connections. 58030: its disk fails.
        "40001" | "40P01" | "55P03" | "57014" | "58030" => StoreErrorKind::Busy,
        _ if code.starts_with("53") => StoreErrorKind::Busy,
        "42501" => StoreErrorKind::Forbidden,
        _ if code.starts_with("28") => StoreErrorKind::Forbidden,
        _ => StoreErrorKind::Refused,
    }
}

pub(crate) fn of(error: &Error) -> StoreError {
    match error.as_db_error() {
        Some(error) => of_server(error),
        None => StoreError::disconnected(described(error)),
    }
}

pub(crate) fn of_server(error: &DbError) -> StoreError {
    let code = error.code().code();
    // About a login or a right, a server says which host, database or table it was, in any language.
    let text = match code {
        "28P01" => "the password is wrong",
        "42501" => RIGHTS,
        "3D000" => "there is no such database",
        _ if code.starts_with("28") => RULES,
        _ => error.message(),
    };
    StoreError::of_server(kind(code), code, text)
}

fn described(error: &Error) -> String {
    if error.is_closed() {
        return "the server closed the connection".to_owned();
    }
    match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    }
}

/// What an error of the login of `user` means for the next attempt.
pub(crate) fn of_login(error: &Error, user: Option<&str>) -> ConnectError {
    match (refused(error), user) {
        (ConnectError::Authentication(error), Some(user)) => {
            let text = format!("for the user `{user}`, {}", error.details());
            let code = error.code().unwrap_or_default();
            ConnectError::Authentication(StoreError::of_server(error.kind(), code, &text))
        }
        (error, _) => error,
    }
}

/// What an error of the set-up means for the next attempt.
pub(crate) fn refused(error: &Error) -> ConnectError {
    if let Some(cause) = error.source().and_then(|it| it.downcast_ref::<io::Error>()) {
        return of_io(cause);
    }
    let Some(db) = error.as_db_error() else {
        let mut text = described(error);
        if text == "password missing" {
            text.push_str(": give it in the URL, or by `Config::credentials`");
        }
        // The driver tells these only as text.
        let of_login = ["password", "authentication", "channel binding"];
        return match of_login.iter().any(|words| text.contains(words)) {
            true => ConnectError::Authentication(StoreError::new(StoreErrorKind::Forbidden, text)),
            false => ConnectError::unreachable(text),
        };
    };
    refusal(of_server(db))
}

pub(crate) fn refusal(error: StoreError) -> ConnectError {
    let code = error.code().unwrap_or_default().to_owned();
    match code.as_str() {
        "3D000" => ConnectError::Unsuitable(
            "it has no such database: create it (`createdb`), or correct the path of the URL (without one, the \
             user's name is used)"
                .into(),
            error,
        ),
        "25006" => ConnectError::Role("standby".to_owned()),
        "42501" => ConnectError::Permission(error),
        _ if code.starts_with("28") => ConnectError::Authentication(error),
        _ if code.starts_with("53") || code.starts_with("57") || code.starts_with("40") => {
            ConnectError::Unreachable(Trouble::Busy, error)
        }
        // 23505, 42710, 42P06: another client has made the schema meanwhile. 25P03: that failed, and a time-out ended
        // the transaction.
        "55P03" | "23505" | "42710" | "42P06" | "25P03" => ConnectError::Unreachable(Trouble::Busy, error),
        _ => ConnectError::Unreachable(Trouble::Unreachable, error),
    }
}

/// Whether the server answers that it does not have the database.
pub(crate) fn is_without_database(error: &ConnectError) -> bool {
    match error {
        ConnectError::At(_, error) => is_without_database(error),
        ConnectError::Unsuitable(_, error) => error.code() == Some("3D000"),
        _ => false,
    }
}

/// The error of a socket, or of TLS.
pub(crate) fn of_io(error: &io::Error) -> ConnectError {
    if let Some(error) = auto_mutex_seam::TlsError::of_io(error) {
        return ConnectError::Tls(error.clone());
    }
    let copy = io::Error::new(error.kind(), error.to_string());
    match error.kind() {
        io::ErrorKind::InvalidData => ConnectError::Unsuitable(
            "it does not speak the protocol of PostgreSQL: correct the host or the port of the URL"
                .into(),
            StoreError::new(StoreErrorKind::Refused, copy.to_string()),
        ),
        _ => copy.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sorted_by_what_can_be_done() {
        use StoreErrorKind::{Busy, Disconnected, Forbidden, Refused};
        for (code, wanted) in [
            ("53100", Busy),
            ("53200", Busy),
            ("53300", Busy),
            ("42501", Forbidden),
            ("28P01", Forbidden),
            ("40001", Busy),
            ("40P01", Busy),
            ("55P03", Busy),
            ("57P01", Disconnected),
            ("08006", Disconnected),
            ("25006", Disconnected),
            ("XX000", Refused),
        ] {
            assert_eq!(kind(code), wanted, "{code}");
        }
    }
}
