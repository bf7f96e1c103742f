//! [`Epoch`]: whether the server has lost its locks, and from when on it grants again. `sql/epoch.sql` has the rule.

use std::time::Duration;

use auto_mutex_seam::store::{Cause, Closed, StoreOptions, clock, millis};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};
use uuid::Uuid;

/// How long an old primary may grant after a standby has taken over. PostgreSQL does not limit this time: the tool that
/// promotes standbys has to end the old primary first, as Patroni does.
const LAG: Duration = Duration::from_secs(12);
const BEGIN: &str = "SELECT id, opens, at, cause FROM auto_mutex.begin_epoch($1, $2, NULL)";
const SEE: &str = "SELECT id, opens, at, cause FROM auto_mutex.see_epoch($1)";

#[derive(Clone, Debug, Default)]
pub(crate) struct Epoch {
    /// Random, and new after each loss.
    pub(crate) id: Uuid,
    /// From when on the server grants, by its own clock (µs); 0 if it grants now.
    opens_at: i64,
    /// The same time by the local clock, with a margin for clock drift.
    pub(crate) closed: Option<Closed>,
}

impl Epoch {
    /// A reader reports no lease, and changes nothing.
    pub(crate) async fn ask(client: &Client, longest: Option<Duration>) -> Result<Vec<Row>, Error> {
        let lag = number(millis(LAG));
        let lag = (&lag as _, Type::INT8);
        let Some(longest) = longest else {
            return client.query_typed(SEE, &[lag]).await;
        };
        let longest = number(millis(longest));
        let parameters = [(&longest as _, Type::INT8), lag];
        client.query_typed(BEGIN, &parameters).await
    }

    /// What an administrator has changed, so that there is no epoch.
    pub(crate) fn fault(rows: &[Row]) -> Option<String> {
        let row = rows.first()?;
        let id: Option<Uuid> = row.try_get(0).ok()?;
        let fault: Option<String> = row.try_get(3).ok()?;
        fault.filter(|_| id.is_none())
    }

    /// Reads the answer.
    pub(crate) fn read(rows: &[Row]) -> Option<Self> {
        let row = rows.first()?;
        let (opens_at, now): (i64, i64) = (row.try_get(1).ok()?, row.try_get(2).ok()?);
        let cause = match row.try_get(3).ok()? {
            Some("failover") => Cause::Failover,
            _ => Cause::Restart,
        };
        let left = Duration::from_micros(opens_at.saturating_sub(now).try_into().unwrap_or(0));
        let until = clock::now().surely_after(left);
        let id: Option<Uuid> = row.try_get(0).ok()?;
        Some(Self {
            id: id.unwrap_or_default(),
            opens_at,
            closed: (opens_at > 0).then_some(Closed { until, cause }),
        })
    }

    pub(crate) fn opens(&mut self) -> i64 {
        self.closed.take_if(|closed| closed.until <= clock::now());
        self.closed.map_or(0, |_| self.opens_at)
    }
}

pub(crate) fn after_restart(options: &StoreOptions) -> Duration {
    options.longest_lease
}

pub(crate) fn after_failover(options: &StoreOptions) -> Duration {
    options.longest_lease.saturating_add(LAG)
}

/// A number as PostgreSQL stores it.
pub(crate) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
