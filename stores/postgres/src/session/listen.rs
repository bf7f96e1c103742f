//! The subscription of a member to its messages.

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{ConnectError, MemberId, Trouble};
use tokio::time::sleep;
use tokio_postgres::types::Type;

use super::{PAUSE, Session};

/// What the functions rely on, whatever the defaults of the user are. A frozen process must not stop the whole connection. A plan that
/// was made when a table was empty must not read the whole table later. Dead connections must not use up `max_connections` for hours.
const SETTINGS: &str = "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; \
    SET lock_timeout = '1s'; SET idle_session_timeout = 0; SET jit = off; SET enable_seqscan = off; \
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'";
/// The number of a member, which its connection locks while it listens: a hint for `auto_mutex.publish`. A connection does not see
/// its own lock, so it also knows its member.
pub(crate) const PRESENCE: &str = "SELECT pg_try_advisory_lock(hashtextextended(\
    set_config('auto_mutex.member', $1::text::uuid::text, false), 7272))";
/// Ends the process of an earlier connection of this member, which the server takes for alive. A client says something every two
/// seconds, so a copy of this process, with the same member, keeps its connection.
const PREDECESSOR: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_locks JOIN pg_stat_activity USING (pid), \
    hashtextextended($1::text::uuid::text, 7272) AS number \
    WHERE locktype = 'advisory' AND objsubid = 1 AND mode = 'ExclusiveLock' AND granted AND pid <> pg_backend_pid() \
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
    AND state_change < clock_timestamp() - interval '3 s' AND (classid::bigint << 32 | objid::bigint) = number";
const TURNS: u32 = 20;

/// The channel of a member.
pub(crate) fn channel(member: MemberId) -> String {
    format!("auto_mutex:{member}")
}

impl Session {
    pub(super) async fn listen(&mut self, member: MemberId) -> Result<(), ConnectError> {
        let text = format!("{SETTINGS}; LISTEN \"{}\"", channel(member));
        self.run(&text).await?;
        let member = member.to_string();
        let parameter = [(&member as _, Type::TEXT)];
        for _ in 0..TURNS {
            let client = self.client.clone();
            let asking = self.ask(async {
                let row = client.query_typed_one(PRESENCE, &parameter).await?;
                let is_alone: bool = row.try_get(0)?;
                if !is_alone {
                    // It may be of another user, and ends by itself once the server has noticed.
                    let _ = client.query_typed(PREDECESSOR, &parameter).await;
                }
                Ok(is_alone)
            });
            if asking.await? {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        let text = "another connection of this client is there: an earlier one, or that of a copy of this process";
        let error = StoreError::disconnected(text);
        Err(ConnectError::Unreachable(Trouble::Busy, error))
    }
}
