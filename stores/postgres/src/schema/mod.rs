//! The schema `auto_mutex`: the rules as SQL, and their version.
//!
//! A client makes the schema if there is none and it may. It never changes one: of an older schema it says what the
//! owner has to run. Clients of an older version go on with newer functions. If the tables are newer, they say that
//! they must be updated.

pub(crate) mod script;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{ConnectError, StoreErrorKind};

pub use self::script::{grants, operating_grants, reading_grants, schema};

/// The version of the tables, and of the functions for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

pub(crate) const VERSION: Version = Version(4, 1);
/// The comment of the schema, before its version.
pub(crate) const MARK: &str = "auto-mutex schema ";
const NEWER: &str = "its schema `auto_mutex` is of a newer version of this library: update the crate auto-mutex in this program";
const FOREIGN: &str =
    "its schema `auto_mutex` is not of this library: rename it, or use another database";

/// The state of the schema in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Missing,
    /// A schema of this name that is not ours.
    Foreign,
    Of(Version),
}

/// An expression for the state, in a query: its text is for [`Found::read`].
pub(crate) const STATE: &str = "(SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = 'auto_mutex')";

impl Found {
    pub(crate) fn read(text: Option<&str>) -> Self {
        let Some(text) = text else {
            return Self::Missing;
        };
        let version = text.strip_prefix(MARK).and_then(|it| it.split_once('.'));
        let version = version.and_then(|(a, b)| Some(Version(a.parse().ok()?, b.parse().ok()?)));
        version.map_or(Self::Foreign, Self::Of)
    }

    /// Whether the schema is as this version of the library needs it; an error if only somebody else can make it so.
    pub(crate) fn serves(self) -> Result<bool, ConnectError> {
        let found = format!("the schema is {self:?}, and this program's is {VERSION:?}");
        match self {
            Self::Foreign => Err(unsuitable(FOREIGN, found)),
            Self::Of(version) if version.0 > VERSION.0 => Err(unsuitable(NEWER, found)),
            Self::Of(version) => Ok(version >= VERSION),
            Self::Missing => Ok(false),
        }
    }
}

pub(crate) fn unsuitable(reason: &'static str, found: String) -> ConnectError {
    let source = StoreError::new(StoreErrorKind::Refused, found);
    ConnectError::Unsuitable(reason.into(), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_back() {
        let Version(tables, rules) = VERSION;
        let of = |tables, rules| Found::read(Some(&format!("{MARK}{tables}.{rules}")));
        assert_eq!(of(tables, rules), Found::Of(VERSION));
        assert!(of(tables, rules).serves().unwrap());
        assert!(of(tables, rules + 1).serves().unwrap());
        assert!(!of(tables - 1, rules + 7).serves().unwrap());
        assert!(!Found::Missing.serves().unwrap());
        assert_eq!(Found::read(None), Found::Missing);
        assert_eq!(Found::read(Some("something")), Found::Foreign);
        let newer = of(tables + 1, 0).serves().unwrap_err();
        assert!(newer.at("host").to_string().contains("update the crate"));
    }
}
