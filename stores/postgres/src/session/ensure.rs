//! Makes the schema in the database, or brings it to this version.

use auto_mutex_core::store::ConnectError;

use super::Session;
use crate::schema::{Found, STATE, VERSION, script, unsuitable};

const ADMINISTRATOR: &str = "its schema `auto_mutex` is missing or old, and this user may not make it: let an administrator run what \
    `auto-mutex schema --postgres` prints";
const OLD: &str = "its schema `auto_mutex` is of an older version of this library: the next client of this version replaces it";

/// Makes the schema, unless it is there. With `reads`, only looks.
pub(super) async fn ensure(
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
    // After an error, the connection is closed, which also ends the transaction.
    make(session).await.map_err(|error| match error {
        ConnectError::Permission(source) => ConnectError::Unsuitable(ADMINISTRATOR.into(), source),
        error => error,
    })
}

async fn make(session: &mut Session) -> Result<(), ConnectError> {
    // Many clients may start together: the others wait for the first, and find the schema.
    // After a crash, a schema that was lost could not tell that locks were lost, too.
    let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT set_config('synchronous_commit', 'local', true) \
                 WHERE current_setting('synchronous_commit') = 'off'; \
                 SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = 0; \
                 SET LOCAL idle_in_transaction_session_timeout = 0; \
                 SELECT pg_advisory_xact_lock(7272, 38)";
    session.run(begin).await?;
    let row = session.row(&format!("SELECT {STATE}")).await?;
    if !Found::read(row.get(0)).serves()? {
        session.run(&script::script(VERSION)).await?;
    }
    session.run("COMMIT").await
}
