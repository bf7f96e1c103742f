//! Makes the schema in the database, if it has none.

use std::time::Duration;

use auto_mutex_seam::store::ConnectError;

use super::Session;
use crate::schema::{Found, MARK, VERSION, script, unsuitable};

const ADMINISTRATOR: &str = "its schema `auto_mutex` is missing, and this user may not make it: let an administrator run what \
    `auto-mutex schema --postgres` prints";
const OLD: &str = "its schema `auto_mutex` is of an older version of this library: let its owner run what `auto-mutex schema --postgres` \
    prints";

/// Makes the schema, unless it is there. With `reads`, only looks. `earlier` is the longest lease if this client had
/// locks in a database of this name before, which was dropped: others may have some still.
pub(super) async fn ensure(
    session: &mut Session,
    found: Found,
    reads: bool,
    earlier: Duration,
) -> Result<(), ConnectError> {
    if found.serves()? {
        return Ok(());
    }
    if found != Found::Missing {
        return Err(unsuitable(OLD, format!("the schema is {found:?}")));
    }
    if reads {
        return Ok(());
    }
    // A server that starts with a schema that was lost could not tell that locks were lost, too. Of many clients that
    // start together, one makes the schema, and the others fail with `Busy`, and find it when they come again. After an
    // error, the connection is closed, which also ends the transaction.
    let script = format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = local; SET LOCAL lock_timeout = '2s'; \
         SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; \
         SET LOCAL auto_mutex.earlier = {}; CREATE SCHEMA auto_mutex; COMMENT ON SCHEMA auto_mutex IS '{MARK}new'; {} COMMIT",
        earlier.as_millis(),
        script::script(VERSION)
    );
    session.run(&script).await.map_err(|error| match error {
        ConnectError::Permission(source) => ConnectError::Unsuitable(ADMINISTRATOR.into(), source),
        error => error,
    })
}
