//! [`Facts`]: what a server says of itself, and how safe locks are there.

use auto_mutex_seam::store::{ConnectError, StoreOptions};
use auto_mutex_seam::{AfterFailover, AfterRestart, Eviction, Guarantees};
use tokio_postgres::SimpleQueryRow;

use crate::epoch;
use crate::schema::{Found, STATE, unsuitable};
use crate::session::Session;

/// The version with which everything that the functions need is there.
const OLDEST: u32 = 140_000;

const COCKROACH: &str = "it is CockroachDB, which has no LISTEN, no unlogged tables, and no advisory locks of sessions: use PostgreSQL";
const YUGABYTE: &str = "it is YugabyteDB, which has no unlogged tables, and repeats a statement on a conflict instead of \
     waiting: use PostgreSQL";
const TOO_OLD: &str = "it is too old: locks need PostgreSQL 14 or newer";
const ISOLATION: &str = "its default isolation is not READ COMMITTED, and a pooler in front of it keeps this client from changing that: \
     `ALTER ROLE … SET default_transaction_isolation = 'read committed'`";
const READ_ONLY: &str = "its transactions are read-only: run `ALTER ROLE … SET default_transaction_read_only = off`, \
    unless the server is read-only for now, as during a switchover or because its disk is full";

pub(crate) const POOLER: &str = "a pooler is in front of it, and does not pass on notifications: connect to the \
    server itself, or let the client poll (add `poll=200ms` to the URL)";

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) version: String,
    /// The process that serves the connection.
    pub(crate) pid: i32,
    pub(crate) schema: Found,
    /// Connected standbys; `None` if the user may not know.
    standbys: Option<u32>,
    is_aurora: bool,
    is_read_committed: bool,
    is_read_only: bool,
    is_standby: bool,
    is_flushed: bool,
}

/// A query that finds nothing that others have made, by a path of its own: not that of the session, which a pooler may
/// give to others.
pub(crate) fn pinned(query: &str) -> String {
    format!("BEGIN; SET LOCAL search_path = pg_catalog, pg_temp; {query}; COMMIT")
}

/// Refuses servers that speak the protocol, but are not PostgreSQL. `version` is the answer to `SELECT version()`.
fn check_product(version: &str) -> Result<(), ConnectError> {
    let refused = |reason| Err(unsuitable(reason, version.to_owned()));
    if version.contains("CockroachDB") {
        return refused(COCKROACH);
    }
    if version.contains("-YB-") || version.contains("Yugabyte") {
        return refused(YUGABYTE);
    }
    Ok(())
}

impl Facts {
    /// Asks a server whether it can serve locks on this connection. One who only reads needs less: neither
    /// a connection without a pooler nor the right to write.
    pub(crate) async fn ask(
        session: &mut Session,
        is_pooled: bool,
        reads: bool,
    ) -> Result<Self, ConnectError> {
        let version = session.row("SELECT pg_catalog.version()").await?;
        let version = version.get(0).unwrap_or_default().to_owned();
        check_product(&version)?;
        let question = pinned(&format!(
            "SELECT current_setting('server_version_num'), pg_backend_pid(), {STATE}, \
             (SELECT count(*) FROM pg_stat_replication), to_regproc('aurora_version') IS NOT NULL, \
             current_setting('default_transaction_isolation'), \
             pg_is_in_recovery(), current_setting('fsync'), current_setting('default_transaction_read_only')"
        ));
        let facts = Self::read(version, &session.row(&question).await?)?;
        facts.check(is_pooled, reads)?;
        if !is_pooled && !reads && facts.pid != session.pid {
            let (said, is) = (session.pid, facts.pid);
            let found =
                format!("the connection is that of process {said}, and process {is} answers");
            return Err(unsuitable(POOLER, found));
        }
        Ok(facts)
    }

    fn read(version: String, row: &SimpleQueryRow) -> Result<Self, ConnectError> {
        let text = |index| row.get(index).unwrap_or_default();
        let number = text(0).parse().unwrap_or(0);
        if number < OLDEST {
            return Err(unsuitable(TOO_OLD, version));
        }
        Ok(Self {
            version,
            pid: text(1).parse().unwrap_or(0),
            schema: Found::read(row.get(2)),
            standbys: text(3).parse().ok(),
            is_aurora: text(4) == "t",
            is_read_committed: text(5) == "read committed",
            is_standby: text(6) == "t",
            is_flushed: text(7) != "off",
            is_read_only: text(8) == "on",
        })
    }

    fn check(&self, is_pooled: bool, reads: bool) -> Result<(), ConnectError> {
        if self.is_standby {
            return Err(ConnectError::Role("standby".to_owned()));
        }
        if !reads && self.is_read_only {
            let found = "default_transaction_read_only is on".to_owned();
            return Err(unsuitable(READ_ONLY, found));
        }
        if !reads && is_pooled && !self.is_read_committed {
            let found = "default_transaction_isolation is stricter".to_owned();
            return Err(unsuitable(ISOLATION, found));
        }
        Ok(())
    }

    pub(crate) fn guarantees(&self, options: &StoreOptions) -> Guarantees {
        let mut guarantees = Guarantees::unknown();
        // The locks are in unlogged tables, which a crash empties. A shutdown keeps them. What they tell about the
        // leases is in a logged one, which the crash of a machine may take away without `fsync`.
        guarantees.restart = match self.is_flushed {
            true => AfterRestart::Closed {
                time: epoch::after_restart(options),
            },
            false => AfterRestart::LastForgotten,
        };
        let time = epoch::after_failover(options);
        guarantees.failover = match self.standbys {
            // Storage of its own: the standbys are not visible, and take over all the same.
            _ if self.is_aurora => AfterFailover::Closed { time },
            None => AfterFailover::Unknown,
            Some(0) => AfterFailover::NoReplicas,
            Some(_) => AfterFailover::OldPrimaryGoesOn { time },
        };
        guarantees.eviction = Eviction::Never;
        guarantees
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_products_are_refused_with_the_reason() {
        for (version, product) in [
            (
                "CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)",
                "CockroachDB",
            ),
            ("PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64", "YugabyteDB"),
            ("PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64", "YugabyteDB"),
        ] {
            let error = check_product(version).unwrap_err().at("host").to_string();
            assert!(error.contains(product), "{error}");
        }
        check_product("PostgreSQL 15.5 (Debian 15.5-0+deb12u1)").unwrap();
    }
}
