//! The subscription of a member to its messages.

use std::sync::Mutex;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{ConnectError, MemberId, Trouble, lock};
use tokio_postgres::types::Type;
use tokio_postgres::{Error, Row};
use uuid::Uuid;

use super::Session;
use crate::call::{SETTINGS, id};
use crate::facts::pinned;

/// What a session of our own has besides, whatever the defaults of the user are. Dead connections must not use up
/// `max_connections` for hours. A standby that is down must not stop the locks, which it never has.
const OF_SESSION: &str = "SET search_path = pg_catalog, pg_temp; SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED; \
    SET idle_session_timeout = 0; SET synchronous_commit = local; \
    SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; SET tcp_user_timeout = '10s'";
const ENTER: &str = "SELECT auto_mutex.enter($1, $2, $3, $4)";
const HEAR: &str = "SELECT auto_mutex.hear($1, $2)";
const COPY: &str =
    "another connection of this client is there, from a copy of this process: restart one of them";
/// How many numbers are remembered.
const MOST: usize = 16;

impl Session {
    /// What a session for requests or messages needs, before anything else.
    pub(super) async fn settle(&mut self) -> Result<(), ConnectError> {
        let settings = SETTINGS.map(|(name, value)| format!("SET {name} = '{value}'; "));
        self.run(&(settings.concat() + OF_SESSION)).await
    }

    /// Registers a channel that nobody else can guess. `before` are the numbers by which the server may know the last
    /// connection of this client: that of the last one that was set up, then those of attempts that failed later.
    pub(super) async fn enter(
        &mut self,
        member: MemberId,
        before: &Mutex<Vec<i64>>,
    ) -> Result<(), ConnectError> {
        let (channel, chosen) = (Uuid::new_v4(), Uuid::new_v4().as_u64_pair().1.cast_signed());
        let earlier = lock(before).clone();
        if earlier.len() == MOST {
            lock(before).remove(1);
        }
        lock(before).push(chosen);
        let (member, member_type) = id(member);
        let parameters = [
            (&*member as _, member_type),
            (&channel as _, Type::UUID),
            (&chosen as _, Type::INT8),
            (&earlier as _, Type::INT8_ARRAY),
        ];
        let client = self.client.clone();
        let asking = self.ask(async {
            let row = client.query_typed_one(ENTER, &parameters).await?;
            row.try_get::<_, Option<i32>>(0)
        });
        let earlier = asking.await?;
        if earlier == Some(0) {
            return Err(ConnectError::Unreachable(
                Trouble::Busy,
                StoreError::disconnected(COPY),
            ));
        }
        if let Some(earlier) = earlier {
            // The server takes it for alive. If this user may not end it, it ends once the server has noticed.
            let end = format!("SET LOCAL ROLE NONE; SELECT pg_terminate_backend({earlier})");
            if self.run(&pinned(&end)).await.is_err() {
                self.run("ROLLBACK").await?;
            }
        }
        *lock(before) = vec![chosen];
        Ok(())
    }

    /// Starts or stops listening on that channel.
    pub(crate) fn hear(
        &self,
        member: MemberId,
        listens: bool,
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send + 'static {
        let client = self.client.clone();
        async move {
            let (member, member_type) = id(member);
            let parameters = [(&*member as _, member_type), (&listens as _, Type::BOOL)];
            client.query_typed(HEAR, &parameters).await
        }
    }
}
