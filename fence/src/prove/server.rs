//! The server of the URL that `setup` returns: how to reach it, and what to ask it.

use std::error::Error;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_postgres::config::Host;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

/// The name of the lock of both holders.
pub(super) const NAME: &str = "prove";

pub(super) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

#[derive(Clone)]
pub(super) struct Url {
    text: String,
    config: Config,
}

impl Url {
    pub(super) fn parse(text: String) -> Result<Self> {
        let config = text.parse()?;
        Ok(Self { text, config })
    }

    /// The same by way of a port of this machine.
    pub(super) fn through(&self, port: u16) -> String {
        let (scheme, rest) = self.text.split_once("://").unwrap_or_default();
        let (address, database) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let user = &address[..address.rfind('@').map_or(0, |at| at + 1)];
        let more = if database.contains('?') { '&' } else { '?' };
        format!("{scheme}://{user}127.0.0.1:{port}{database}{more}sslmode=disable")
    }

    pub(super) async fn connect(&self) -> io::Result<Box<dyn Stream>> {
        let port = *self.config.get_ports().last().unwrap_or(&5432);
        let host = match self.config.get_hosts().last() {
            Some(Host::Tcp(host)) => host,
            #[cfg(unix)]
            Some(Host::Unix(folder)) => {
                let path = folder.join(format!(".s.PGSQL.{port}"));
                return Ok(Box::new(tokio::net::UnixStream::connect(path).await?));
            }
            _ => "localhost",
        };
        let stream = TcpStream::connect((host, port)).await?;
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}

/// Makes the writes of a function wait, each before two doors, which are locks: with one, it might run on to the next
/// write before the door is closed again.
const PAUSE: &str = "CREATE OR REPLACE FUNCTION auto_mutex_pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
        PERFORM pg_advisory_lock(door, pg_backend_pid()), pg_advisory_unlock(door, pg_backend_pid()) \
            FROM (VALUES (1299870001), (1299870002)) AS doors(door); \
        RETURN NULL; \
    END $$; \
    DO $$ DECLARE writable regclass; BEGIN \
        FOR writable IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
            WHERE relkind IN ('r', 'p') AND NOT relispartition AND nspname = ANY(current_schemas(false)) \
                AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = c.oid AND tgname = 'auto_mutex_pause') \
        LOOP \
            EXECUTE format('CREATE TRIGGER auto_mutex_pause BEFORE INSERT OR UPDATE OR DELETE ON %s \
                EXECUTE FUNCTION auto_mutex_pause()', writable); \
        END LOOP; \
    END $$";

/// What to do with which door.
pub(super) const HOLD: &[&str] = &["lock(1299870001"];
pub(super) const FREE: &[&str] = &["unlock(1299870001"];
/// The process goes on, and comes to a closed door again.
pub(super) const PASS: &[&str] = &[
    "lock(1299870002",
    "unlock(1299870001",
    "lock(1299870001",
    "unlock(1299870002",
];

/// A connection that watches the others.
pub(super) struct Observer {
    client: Client,
    ignored: String,
}

impl Observer {
    /// It does not look at what is in `ignored`: tables, and columns as `table.column`.
    pub(super) async fn connect(url: &Url, ignored: &[&str]) -> Result<Self> {
        let stream = url.connect().await?;
        let (client, connection) = url.config.connect_raw(stream, NoTls).await?;
        tokio::spawn(connection);
        let ignored = format!("'{{{}}}'::text[]", ignored.join(","));
        Ok(Self { client, ignored })
    }

    /// Returns the first column.
    async fn ask(&self, question: &str) -> Result<Vec<String>> {
        let messages = self.client.simple_query(question).await;
        // The text of an error has not what the server said.
        let messages = messages.map_err(|error| error.into_source().unwrap_or("closed".into()))?;
        let rows = messages.into_iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0)?.to_owned()),
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Prepares the tables, and the lock of the holders if the locks are in this database, unless they come `back`.
    pub(super) async fn begin(&self, back: bool) -> Result<bool> {
        self.ask(PAUSE).await?;
        let question = "SELECT to_regprocedure('auto_mutex.fence(text,bigint,uuid)') IS NOT NULL";
        let is_here = self.ask(question).await? == ["t"];
        if is_here && !back {
            let forget = ["names", "tickets", "fences"]
                .map(|table| format!("DELETE FROM auto_mutex.{table} WHERE name = '{NAME}'"));
            self.ask(&forget.join("; ")).await?;
        }
        Ok(is_here)
    }

    /// Grants the lock to the ticket, whoever holds it. (In that far future, the lease ends after the test.)
    pub(super) async fn grant(&self, ticket: &str, token: u64) -> Result<()> {
        let at = token / 1024;
        let force = format!("auto_mutex.drop_holders('{NAME}', '{ticket}', NULL, '', 0, {at})");
        let acquire = format!(
            "auto_mutex.acquire('{NAME}', '{ticket}', '{ticket}', 0, 1, 1, false, 1000, 1000, 0::int2, true, '', 0, {at})"
        );
        let replies = self
            .ask(&format!("SELECT {force}; SELECT {acquire}"))
            .await?;
        match replies.last() {
            Some(reply) if reply.starts_with("GRANTED") => Ok(()),
            _ => Err(format!("the lock is not granted: {replies:?}").into()),
        }
    }

    /// Opens and closes the doors of a process.
    pub(super) async fn doors(&self, process: i32, calls: &[&str]) -> Result<()> {
        let calls = calls
            .iter()
            .map(|call| format!("pg_advisory_{call}, {process})"));
        let calls = calls.collect::<Vec<_>>().join(", ");
        self.ask(&format!("SELECT {calls}")).await.map(drop)
    }

    /// Which of the processes wait for a lock of another of them; negative, if it waits before a door.
    pub(super) async fn blocked(&self, processes: &[i32]) -> Result<Vec<i32>> {
        let all = format!("ARRAY{processes:?}::int[]");
        let question = format!(
            "SELECT CASE WHEN pg_backend_pid() = ANY(locks) THEN -p ELSE p END FROM unnest({all}) p, \
                LATERAL (SELECT pg_blocking_pids(p) || pg_safe_snapshot_blocking_pids(p)) AS l(locks) \
                WHERE locks && ({all} || pg_backend_pid())"
        );
        let rows = self.ask(&question).await?;
        Ok(rows.iter().flat_map(|row| row.parse()).collect())
    }

    /// Ends the processes, or `which` of them, and waits until they are gone.
    pub(super) async fn end(&self, processes: &[i32], which: &str) -> Result<()> {
        let running = format!("pg_stat_activity WHERE pid = ANY(ARRAY{processes:?}::int[])");
        let end = format!("SELECT pg_terminate_backend(pid) FROM {running} {which}");
        while !processes.is_empty() && !self.ask(&end).await?.is_empty() {}
        Ok(())
    }

    /// The rows of all tables, sorted, without what a default of a column makes: that may differ from run to run.
    /// `None` if a table is locked.
    pub(super) async fn contents(&self) -> Result<Option<Vec<String>>> {
        let ignored = &self.ignored;
        let tables = format!(
            "SELECT format('SELECT %L || (to_jsonb(t) - %L::text[])::text FROM %s t', \
                c.oid::regclass::text || ' ', array( \
                    SELECT attname FROM pg_attribute \
                    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum \
                    WHERE attrelid = c.oid AND (attidentity <> '' OR pg_get_expr(adbin, adrelid) \
                        ~* 'nextval|now\\(|current_|timestamp\\(|random|uuid' \
                        OR relname || '.' || attname = ANY({ignored}))), \
                c.oid::regclass) \
            FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
            WHERE relkind = 'r' AND relname <> ALL({ignored} || 'auto_mutex_fence'::text) \
                AND nspname = ANY(current_schemas(false))"
        );
        let rows = self.ask(&tables).await?.join(" UNION ALL ");
        // An error undoes the setting, too.
        let read = format!("SET lock_timeout = '1ms'; {rows}; SET lock_timeout = 0");
        match self.ask(&read).await {
            Ok(mut rows) => {
                rows.sort();
                Ok(Some(rows))
            }
            Err(error) => match error.downcast_ref::<DbError>() {
                Some(known) if *known.code() == SqlState::LOCK_NOT_AVAILABLE => Ok(None),
                _ => Err(error),
            },
        }
    }
}
