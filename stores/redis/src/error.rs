//! Errors of servers and sockets, classified by how to handle them.

use std::borrow::Cow;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::StoreErrorKind;

use crate::wire::ErrorReply;

macro_rules! codes {
    ($($code:ident = $word:literal $kind:ident,)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Code {
            $($code,)*
            Other,
        }

        impl Code {
            fn of_word(word: &str) -> Self {
                match word {
                    $($word => Self::$code,)*
                    _ => Self::Other,
                }
            }

            fn kind(self) -> StoreErrorKind {
                match self {
                    $(Self::$code => StoreErrorKind::$kind,)*
                    Self::Other => StoreErrorKind::Refused,
                }
            }
        }
    };
}

codes! {
    // The server cannot be used for now: the client closes the connection, and checks the server on a new one.
    ReadOnly = "READONLY" Disconnected,
    MasterDown = "MASTERDOWN" Disconnected,
    Loading = "LOADING" Disconnected,
    Unblocked = "UNBLOCKED" Disconnected,
    NoPerm = "NOPERM" Forbidden,
    NoAuth = "NOAUTH" Forbidden,
    WrongPass = "WRONGPASS" Forbidden,
    Busy = "BUSY" Busy,
    TryAgain = "TRYAGAIN" Busy,
    ClusterDown = "CLUSTERDOWN" Busy,
    NoReplicas = "NOREPLICAS" Busy,
    // Its memory is full, or it can't save to its disk.
    Oom = "OOM" Busy,
    Misconf = "MISCONF" Busy,
    Foreign = "FOREIGN" Foreign,
    WrongType = "WRONGTYPE" Foreign,
    Moved = "MOVED" Refused,
    Ask = "ASK" Refused,
    NoScript = "NOSCRIPT" Refused,
    NoProto = "NOPROTO" Refused,
}

impl Code {
    pub(super) fn of(error: &ErrorReply<'_>) -> Self {
        Self::of_word(meaning(&error.code, &error.details))
    }

    pub(crate) fn of_error(error: &StoreError) -> Self {
        error.code().map_or(Self::Other, Self::of_word)
    }

    pub(crate) fn is_elsewhere(self) -> bool {
        matches!(self, Self::Moved | Self::Ask | Self::TryAgain)
    }

    pub(super) fn ends_connection(self) -> bool {
        self == Self::NoAuth || self.kind() == StoreErrorKind::Disconnected
    }
}

pub(super) fn of_server(error: &ErrorReply<'_>) -> StoreError {
    let code = meaning(&error.code, &error.details);
    StoreError::of_server(Code::of_word(code).kind(), code, &anonymous(&error.details))
}

pub(super) fn of_socket(error: &std::io::Error) -> StoreError {
    StoreError::disconnected(error.to_string())
}

/// Removes what newer servers repeat: the user without a permission, and the arguments of an unknown command.
fn anonymous(details: &str) -> Cow<'_, str> {
    if let Some((unknown, _)) = details.split_once(", with args beginning with") {
        return unknown.into();
    }
    let named = details.split_once(" has no permissions");
    match named.and_then(|(named, rest)| Some((named.split_once("User ")?.0, rest))) {
        Some((before, rest)) => format!("{before}this user has no permissions{rest}").into(),
        None => details.into(),
    }
}

const CAUGHT: &str = "@user_script:";

/// Before Redis 7, an error within a script has the code ERR or [`CAUGHT`], and perhaps its own code in the text.
fn meaning<'a>(code: &'a str, details: &'a str) -> &'a str {
    let (code, caught) = match code {
        CAUGHT => ("ERR", true),
        code => (code, false),
    };
    if code != "ERR" {
        return code;
    }
    let denied = ["The user executing the script", "ACL failure in script"];
    if denied.iter().any(|denied| details.contains(denied)) {
        return "NOPERM";
    }
    if caught || details.contains("Error running script") || details.contains("user_script") {
        let mut words = details.split(|c: char| !c.is_ascii_uppercase());
        if let Some(nested) = words.find(|word| Code::of_word(word) != Code::Other) {
            return nested;
        }
        if details.contains("Write against a read only replica") {
            return "READONLY";
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort(code: &str, details: &str) -> StoreError {
        of_server(&ErrorReply::new(format!("{code} {details}").as_bytes()))
    }

    #[test]
    fn errors_are_sorted_by_what_can_be_done() {
        use StoreErrorKind::{Busy, Disconnected, Forbidden, Foreign, Refused};
        let table = [
            (
                "WRONGTYPE",
                "Operation against a key holding the wrong kind of value",
                Foreign,
            ),
            ("FOREIGN", "the key holds something else", Foreign),
            ("NOPERM", "this user has no permissions", Forbidden),
            ("WRONGPASS", "invalid username-password pair", Forbidden),
            ("NOAUTH", "Authentication required.", Forbidden),
            ("OOM", "command not allowed", Busy),
            ("BUSY", "Redis is busy running a script", Busy),
            ("NOREPLICAS", "Not enough good replicas to write.", Busy),
            ("MISCONF", "Errors writing to the AOF", Busy),
            ("ERR", "unknown", Refused),
            (
                "READONLY",
                "You can't write against a read only replica.",
                Disconnected,
            ),
            ("LOADING", "Redis is loading", Disconnected),
            ("MASTERDOWN", "Link with MASTER is down", Disconnected),
            (
                "ERR",
                "Error running script (call to f_6b1b): @user_script:12: WRONGTYPE Operation against a key",
                Foreign,
            ),
            (
                "ERR",
                "Error running script (call to f_6b1b): @user_script:12: @user_script: 12: -OOM command not allowed",
                Busy,
            ),
            (
                "@user_script:",
                "1: -NOREPLICAS Not enough good replicas to write.",
                Busy,
            ),
            (
                "@user_script:",
                "1: -READONLY You can't write against a read only replica.",
                Disconnected,
            ),
            (
                "@user_script:",
                "1: -OOM command not allowed when used memory > 'maxmemory'.",
                Busy,
            ),
            (
                "ERR",
                "Error running script (call to f_6b1b): @user_script:9: The user executing the script can't run this command",
                Forbidden,
            ),
            (
                "ERR",
                "ACL failure in script: User canary has no permissions to run the 'publish' command script: 6b1b, on @user_script:9.",
                Forbidden,
            ),
            (
                "ERR",
                "Error running script (call to f_6b1b): @user_script:9: -READONLY You can't write against a read only replica.",
                Disconnected,
            ),
        ];
        for (code, details, kind) in table {
            assert_eq!(sort(code, details).kind(), kind, "{code} {details}");
        }
    }

    #[test]
    fn a_code_within_a_script_is_found() {
        for (code, details) in [
            ("OOM", "command not allowed"),
            (
                "@user_script:",
                "1: -OOM command not allowed when used memory > 'maxmemory'.",
            ),
            (
                "ERR",
                "Error running script (call to f_6b1b): @user_script:12: @user_script: 12: -OOM command not allowed",
            ),
        ] {
            assert_eq!(sort(code, details).code(), Some("OOM"), "{code} {details}");
        }
        assert_eq!(sort("@user_script:", "1: attempt").code(), Some("ERR"));
    }

    #[test]
    fn the_arguments_of_an_unknown_command_are_left_out() {
        let details =
            "unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `canary`, ";
        let text = sort("ERR", details).to_string();
        assert_eq!(text, "ERR unknown command `HELLO`");
    }

    #[test]
    fn the_users_name_is_left_out() {
        let details = "User canary has no permissions to run the 'publish' command";
        let text = sort("NOPERM", details).to_string();
        assert_eq!(
            text,
            "NOPERM this user has no permissions to run the 'publish' command"
        );
        let text = sort("ERR", &format!("ACL failure in script: {details}")).to_string();
        assert_eq!(
            text,
            "NOPERM ACL failure in script: this user has no permissions to run the 'publish' command"
        );
    }
}
