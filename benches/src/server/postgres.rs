//! A PostgreSQL server in a temporary folder, with default settings except for the number of connections. Statements
//! are counted by the extension `pg_stat_statements`, bytes by the kernel (`ss`).

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use auto_mutex_tests::databases;
use sqlx::{Connection, PgConnection, Row};
use tokio::runtime::{Builder, Runtime};

use super::Stats;
use crate::Failure;
use crate::run::pin;

/// Enough for the scenario with the most connections. The default is 100.
const CONNECTIONS: &str = "max_connections=1200";
/// How often the size of the tables is read.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) struct Postgres {
    process: databases::Server,
    runtime: Runtime,
    /// Uses another database than the workers, so its statements are not counted.
    connection: Option<PgConnection>,
    /// That of a transaction that stays open.
    snapshot: Option<PgConnection>,
}

/// If PostgreSQL cannot be started on this machine, returns the reason.
pub(crate) fn missing() -> Option<String> {
    databases::missing_postgres()
}

impl Postgres {
    /// Starts the server on the server's processor.
    pub(super) fn start() -> Result<Self, Failure> {
        let preload = "shared_preload_libraries=pg_stat_statements";
        let process = databases::postgres(&[CONNECTIONS, preload])?;
        let mut server = Self {
            process,
            runtime: Builder::new_current_thread().enable_all().build()?,
            connection: None,
            snapshot: None,
        };
        server.connection = Some(server.connect(&server.process.url("postgres"))?);
        server.execute("CREATE DATABASE bench")?;
        server.execute("CREATE EXTENSION pg_stat_statements")?;
        pin::server(server.pid())?;
        Ok(server)
    }

    pub(super) fn url(&self) -> String {
        self.process.url("bench")
    }

    fn connect(&self, url: &str) -> Result<PgConnection, Failure> {
        let connection = self.runtime.block_on(PgConnection::connect(url));
        Ok(connection.map_err(|error| format!("PostgreSQL: {error}"))?)
    }

    /// Opens a transaction with a snapshot.
    pub(super) fn hold_snapshot(&mut self) -> Result<(), Failure> {
        let mut connection = self.connect(&self.url())?;
        let sql = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1";
        self.runtime
            .block_on(sqlx::raw_sql(sql).execute(&mut connection))
            .map_err(|error| format!("PostgreSQL: {sql}: {error}"))?;
        self.snapshot = Some(connection);
        Ok(())
    }

    /// Reads the size of the tables of locks again and again, until the server stops. The greatest size in bytes is
    /// kept in the result.
    pub(super) fn watch_tables(&self) -> Result<Arc<AtomicU64>, Failure> {
        let mut connection = self.connect(&self.url())?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let most = Arc::new(AtomicU64::new(0));
        let size = most.clone();
        thread::spawn(move || {
            loop {
                let row = sqlx::query_scalar::<_, i64>("SELECT auto_mutex.size()");
                match runtime.block_on(row.fetch_one(&mut connection)) {
                    Ok(bytes) => drop(size.fetch_max(bytes.unsigned_abs(), Ordering::Relaxed)),
                    // Before the first client there is no schema.
                    Err(sqlx::Error::Database(_)) => {}
                    Err(_) => return,
                }
                thread::sleep(PAUSE);
            }
        });
        Ok(most)
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(super) fn stats(&mut self) -> Stats {
        let statements = self.number(
            "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements s \
             JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = 'bench'",
        );
        Stats::of_statements(statements, self.bytes())
    }

    pub(super) fn watch_longest(&mut self) -> Result<(), Failure> {
        self.execute("SELECT pg_stat_statements_reset()")
    }

    pub(super) fn longest(&mut self) -> f64 {
        let microseconds = self.number(
            "SELECT coalesce(max(1000 * max_exec_time), 0)::bigint FROM pg_stat_statements s \
             JOIN pg_database d ON d.oid = s.dbid \
             WHERE d.datname = 'bench' AND query LIKE 'SELECT%auto_mutex.%'",
        );
        microseconds as f64 / 1000.0
    }

    pub(super) fn connections(&mut self) -> usize {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = 'bench'";
        self.number(sql) as usize
    }

    pub(super) fn version(&mut self) -> String {
        let (runtime, connection) = (&self.runtime, self.connection.as_mut());
        let row = connection.and_then(|connection| {
            let query = sqlx::query("SHOW server_version").fetch_one(connection);
            runtime.block_on(query).ok()
        });
        let version = row.and_then(|row| row.try_get::<String, _>(0).ok());
        let version = version.unwrap_or_default();
        version
            .split_whitespace()
            .next()
            .unwrap_or("unknown")
            .to_owned()
    }

    /// Returns the bytes of the open connections, in both directions.
    fn bytes(&self) -> Option<u64> {
        let output = Command::new("ss")
            .args(["-tinOH", "state", "established"])
            .arg(format!("( sport = :{} )", self.process.port()))
            .output()
            .ok()?;
        Some(traffic(&String::from_utf8(output.stdout).ok()?))
    }

    fn number(&mut self, sql: &str) -> u64 {
        let (runtime, connection) = (&self.runtime, self.connection.as_mut());
        let number = connection.and_then(|connection| {
            let row = runtime.block_on(sqlx::query(sql).fetch_one(connection));
            row.ok()?.try_get::<i64, _>(0).ok()
        });
        number.unwrap_or(0).try_into().unwrap_or(0)
    }

    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        let connection = self.connection.as_mut().ok_or("no connection")?;
        self.runtime
            .block_on(sqlx::query(sql).execute(connection))
            .map_err(|error| format!("PostgreSQL: {sql}: {error}"))?;
        Ok(())
    }
}

/// Sums the bytes of the connections that `ss` lists.
fn traffic(list: &str) -> u64 {
    let bytes = |word: &str| {
        let number = ["bytes_sent:", "bytes_received:"]
            .iter()
            .find_map(|field| word.strip_prefix(field))?;
        number.parse::<u64>().ok()
    };
    list.split_whitespace().filter_map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_all_connections_are_added() {
        let list = "0 0 127.0.0.1:5 127.0.0.1:6 cubic bytes_sent:100 bytes_acked:100 bytes_received:20 segs_out:1\n\
                    0 0 127.0.0.1:5 127.0.0.1:7 cubic bytes_sent:3 bytes_received:4\n";
        assert_eq!(traffic(list), 127);
    }
}
