//! The schema `auto_mutex`: the rules as SQL, and their version.
//!
//! In a rolling update, clients of two versions meet. One that finds older functions replaces them, and the older clients go on
//! with the new ones. One that finds older tables replaces the whole schema; the older clients then say that they must be
//! updated. No client goes back to an older version.

pub(crate) mod script;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{ConnectError, StoreErrorKind};

pub use self::script::{grants, reading_grants, schema};
use crate::session::Session;

/// The version of the tables, and of the functions for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) u32, pub(crate) u32);

pub(crate) const VERSION: Version = Version(1, 0);
/// The comment of the schema, before its version.
const MARK: &str = "auto-mutex schema ";
const ADMINISTRATOR: &str = "its schema `auto_mutex` is missing or old, and this user may not make it: let an administrator run what \
    `auto-mutex schema --postgres` prints";
const NEWER: &str = "its schema `auto_mutex` is of a newer version of this library: update the crate auto-mutex in this program";
const OLD: &str = "its schema `auto_mutex` is of an older version of this library: the next client of this version replaces it";
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
    fn serves(self) -> Result<bool, ConnectError> {
        let found = format!("the schema is {self:?}, and this program's is {VERSION:?}");
        match self {
            Self::Foreign => Err(unsuitable(FOREIGN, found)),
            Self::Of(version) if version.0 > VERSION.0 => Err(unsuitable(NEWER, found)),
            Self::Of(version) => Ok(version >= VERSION),
            Self::Missing => Ok(false),
        }
    }
}

/// Makes the schema, unless it is there. With `reads`, only looks.
pub(crate) async fn ensure(
    session: &mut Session,
    found: Found,
    reads: bool,
) -> Result<(), ConnectError> {
    if found.serves()? {
        return Ok(());
    }
    match found {
        // Functions for reading are the same in all versions.
        Found::Of(version) if reads && version.0 == VERSION.0 => return Ok(()),
        _ if reads => return Err(unsuitable(OLD, format!("the schema is {found:?}"))),
        _ => {}
    }
    let made = make(session).await;
    if made.is_err() {
        let _ = session.run("ROLLBACK").await;
    }
    made.map_err(|error| match error {
        ConnectError::Permission(source) => ConnectError::Unsuitable(ADMINISTRATOR.into(), source),
        error => error,
    })
}

async fn make(session: &mut Session) -> Result<(), ConnectError> {
    // Many clients may start together: the others wait for the first, and find the schema.
    // After a crash, a schema that was lost could not tell that locks were lost, too.
    let begin = "BEGIN; SELECT set_config('synchronous_commit', 'local', true) \
                 WHERE current_setting('synchronous_commit') = 'off'; \
                 SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = 0; \
                 SELECT pg_advisory_xact_lock(7272, 38)";
    session.run(begin).await?;
    let row = session.row(&format!("SELECT {STATE}")).await?;
    if !Found::read(row.get(0)).serves()? {
        session.run(&script::script(VERSION)).await?;
    }
    session.run("COMMIT").await
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
