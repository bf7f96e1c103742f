//! The schema `auto_mutex`: the rules as SQL, their version, and who may use them.

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{ConnectError, StoreErrorKind};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use crate::error;

/// The version of the schema. A change of a table or a function raises it.
const VERSION: u32 = 1;
/// The comment of the schema, before its version.
const MARK: &str = "auto-mutex schema ";
const PARTS: [&str; 6] = [
    include_str!("sql/tables.sql"),
    include_str!("sql/steps.sql"),
    include_str!("sql/operations.sql"),
    include_str!("sql/upkeep.sql"),
    include_str!("sql/term.sql"),
    include_str!("sql/fence.sql"),
];

/// Returns the SQL that makes the schema `auto_mutex`, for an administrator, if the program's user may not create schemas.
#[must_use]
pub fn schema() -> String {
    format!("BEGIN;\n\n{}\nCOMMIT;\n", statements())
}

/// Returns the SQL that lets a role use the locks, but not change the schema.
///
/// ```
/// let sql = auto_mutex_postgres::grants("app");
/// assert!(sql.contains("GRANT USAGE ON SCHEMA auto_mutex TO \"app\";"));
/// ```
#[must_use]
pub fn grants(role: &str) -> String {
    let role = role.replace('"', "\"\"");
    format!(
        "GRANT USAGE ON SCHEMA auto_mutex TO \"{role}\";\n\
         GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA auto_mutex TO \"{role}\";\n\
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA auto_mutex TO \"{role}\";\n"
    )
}

fn statements() -> String {
    let parts = PARTS.join("\n");
    format!(
        "CREATE SCHEMA auto_mutex;\n\n{parts}\nCOMMENT ON SCHEMA auto_mutex IS '{MARK}{VERSION}';\n"
    )
}

/// The state of the schema in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Missing,
    /// A schema of this name that is not ours.
    Foreign,
    Version(u32),
}

/// An expression for the state, in a query: its text is for [`Found::read`].
pub(crate) const STATE: &str = "(SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = 'auto_mutex')";

impl Found {
    pub(crate) fn read(text: Option<&str>) -> Self {
        let version = text.map(|text| text.strip_prefix(MARK)?.parse().ok());
        match version {
            None => Self::Missing,
            Some(None) => Self::Foreign,
            Some(Some(version)) => Self::Version(version),
        }
    }

    /// Whether the schema is as this version of the library needs it; an error if only somebody else can make it so.
    fn serves(self) -> Result<bool, ConnectError> {
        match self {
            Self::Missing => Ok(false),
            Self::Version(version) if version < VERSION => Ok(false),
            Self::Version(VERSION) => Ok(true),
            Self::Version(version) => Err(unsuitable(
                "its schema `auto_mutex` is of a newer version of this library: update the crate auto-mutex in this program",
                format!("the schema has version {version}, and this program version {VERSION}"),
            )),
            Self::Foreign => Err(unsuitable(
                "its schema `auto_mutex` is not of this library: rename it, or use another database",
                "the schema has no version".to_owned(),
            )),
        }
    }
}

/// Makes the schema, unless it is there. With `reads`, only looks.
pub(crate) async fn ensure(client: &Client, found: Found, reads: bool) -> Result<(), ConnectError> {
    if found.serves()? {
        return Ok(());
    }
    if reads {
        return Err(unsuitable(
            "its schema `auto_mutex` is of an older version of this library: the next client of this version replaces it",
            "the schema is old".to_owned(),
        ));
    }
    let made = make(client).await;
    if made.is_err() {
        let _ = client.batch_execute("ROLLBACK").await;
    }
    made
}

async fn make(client: &Client) -> Result<(), ConnectError> {
    // Many clients may start together: the others wait for the first, and find the schema.
    // After a crash, a schema that was lost could not tell that locks were lost, too.
    let begin = "BEGIN; SELECT set_config('synchronous_commit', 'local', true) \
                 WHERE current_setting('synchronous_commit') = 'off'; \
                 SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = 0; \
                 SELECT pg_advisory_xact_lock(7272, 38)";
    let failed = |error| error::refused(&error);
    client.batch_execute(begin).await.map_err(failed)?;
    let query = format!("SELECT {STATE}");
    let rows = client.simple_query(&query).await.map_err(failed)?;
    let text = rows.iter().find_map(|row| match row {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0)),
        _ => None,
    });
    let found = Found::read(text.flatten());
    if !found.serves()? {
        let drop = match found {
            // Locks that are held are lost, as after a crash: the first term of the new schema begins closed.
            Found::Version(_) => "DROP SCHEMA auto_mutex CASCADE;\n",
            _ => "",
        };
        let lost = match found {
            Found::Version(_) => "UPDATE auto_mutex.term SET began = auto_mutex.clock(NULL);\n",
            _ => "",
        };
        let text = format!("{drop}{}{lost}", statements());
        client.batch_execute(&text).await.map_err(|error| {
            let forbidden = error::is(&error, &SqlState::INSUFFICIENT_PRIVILEGE);
            let error = error::refused(&error);
            match error {
                ConnectError::Permission(source) if forbidden => ConnectError::Unsuitable(
                    "its schema `auto_mutex` is missing or old, and this user may not make it: let an administrator run \
                     what `auto-mutex schema --postgres` prints"
                        .into(),
                    source,
                ),
                error => error,
            }
        })?;
    }
    client.batch_execute("COMMIT").await.map_err(failed)
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
        let text = format!("{MARK}{VERSION}");
        assert_eq!(Found::read(Some(&text)), Found::Version(VERSION));
        assert!(Found::Version(VERSION).serves().unwrap());
        assert!(!Found::Missing.serves().unwrap());
        assert_eq!(Found::read(None), Found::Missing);
        assert_eq!(Found::read(Some("something")), Found::Foreign);
        let newer = Found::Version(VERSION + 1).serves().unwrap_err();
        assert!(newer.at("host").to_string().contains("update the crate"));
    }

    #[test]
    fn a_role_is_quoted() {
        assert!(grants("a\"b").contains("TO \"a\"\"b\";"));
    }
}
