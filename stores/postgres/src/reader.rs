//! [`Inspector`]: reads names and their state from a server, and changes nothing.

use std::time::{Duration, SystemTime};

use auto_mutex_net::{Connects as _, set_up};
use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{
    ConnectError, Described, Key, Name, NameRecord, Op, Page, Reader, Reading, Replica, Server,
    Snapshot, clock, matches,
};
use tokio_postgres::SimpleQueryRow;
use tokio_postgres::types::Type;

use crate::call::{Call, INSPECT, query};
use crate::facts::{POOLER, pinned};
use crate::reply::{nonsense, record};
use crate::schema::{Found, script};
use crate::session::{Connector, Ready, rows};

const PAGE: i64 = 1000;
const SCAN: &str = "SELECT name, is_idle FROM auto_mutex.scan($1, $2)";
const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
const REPLICAS: &str = "SELECT coalesce(client_addr::text, 'a socket') || ' (' || application_name || ')', coalesce(state, 'streaming') = 'streaming', \
    extract(epoch FROM replay_lag)::bigint FROM pg_stat_replication ORDER BY 1";
const LOST: &str = "a crash, a failover or an administrator has deleted all locks, and no client has noticed yet (its \
    table `auto_mutex.epoch` is empty): nothing to do, because the next client waits out every lease that may still \
    count";

/// A reader of the server that takes writes.
pub(crate) struct Inspector {
    connector: Connector,
    opened: Option<Ready>,
}

impl Inspector {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            connector,
            opened: None,
        }
    }

    /// If `ask` fails on an old connection, which may have ended, runs it again on a new one. That is harmless, because
    /// queries change nothing.
    async fn with<T>(
        &mut self,
        mut ask: impl AsyncFnMut(&Connector, &mut Ready) -> Result<T, ConnectError>,
    ) -> Result<T, SetupError> {
        let connector = &self.connector;
        if let Some(mut ready) = self.opened.take()
            && let Ok(answer) = ask(connector, &mut ready).await
        {
            self.opened = Some(ready);
            return Ok(answer);
        }
        let mut ready = set_up(connector, connector.options.connect_timeout).await?;
        let answer = ask(connector, &mut ready).await;
        let answer = answer.map_err(|error| error.at(&connector.address()))?;
        // If there is no schema, the next question looks for it again.
        self.opened = Some(ready).filter(|ready| !is_empty(ready));
        Ok(answer)
    }
}

/// Whether no client has ever used locks there.
fn is_empty(ready: &Ready) -> bool {
    ready.facts.schema == Found::Missing
}

impl Reader for Inspector {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(self.with(async |_, _| Ok(())))
    }

    fn scan<'a>(
        &'a mut self,
        _: usize,
        pattern: Option<&'a str>,
        cursor: &'a str,
    ) -> Reading<'a, Result<Page, SetupError>> {
        // Names are not empty, so all come after the first cursor without its mark.
        let after = cursor.strip_prefix('>').unwrap_or_default().to_owned();
        Box::pin(self.with(async move |connector, ready| {
            if is_empty(ready) {
                return Ok(Page::default());
            }
            let client = ready.requests.client.clone();
            let rows = ready.requests.ask(async {
                let parameters = [(&after as _, Type::TEXT), (&PAGE as _, Type::INT8)];
                client.query_typed(SCAN, &parameters).await
            });
            let rows = rows.await?;
            let mut page = Page::default();
            let address = connector.address();
            for row in &rows {
                let name: &str = row
                    .try_get(0)
                    .map_err(|error| crate::error::refused(&error))?;
                page.next = Some(format!(">{name}"));
                if pattern.is_none_or(|pattern| matches(pattern, name)) {
                    let parsed = Name::parse(name);
                    let mut key = Key::new(address.clone(), name.to_owned(), parsed.as_ref());
                    key.idle = row.try_get(1).unwrap_or(false);
                    page.keys.push(key);
                }
            }
            page.next = page.next.filter(|_| rows.len() as i64 == PAGE);
            Ok(page)
        }))
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(self.with(async move |connector, ready| {
            let (query, member) = (query(INSPECT, 2, false), connector.member);
            let there = if is_empty(ready) { &[][..] } else { names };
            let client = ready.requests.client.clone();
            let asked = ready.requests.ask(async {
                let mut states = Vec::new();
                for name in there {
                    let op = Op::Inspect { above: 0 };
                    let call = Call::of(name, &op, member, 0);
                    let rows = client.query_typed(&query, &call.typed()).await?;
                    states.push(record(&rows).ok_or_else(nonsense).map(|(_, state)| state));
                }
                states.resize_with(names.len(), || Ok(NameRecord::default()));
                Ok(states)
            });
            let names = asked.await?;
            let now = ready.requests.row(&pinned(NOW)).await?;
            let now = now.get(0).and_then(|text| text.parse().ok());
            Ok(Snapshot {
                now: now.unwrap_or(0),
                names,
            })
        }))
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async {
            let described = self.with(describe).await;
            vec![described.map_err(|error| (self.connector.address(), error))]
        })
    }
}

async fn describe(connector: &Connector, ready: &mut Ready) -> Result<Server, ConnectError> {
    let asked = SystemTime::now();
    let time = ready.requests.row(&pinned(NOW)).await?;
    let round_trip = asked.elapsed().unwrap_or_default();
    let here = (asked + round_trip / 2).duration_since(SystemTime::UNIX_EPOCH);
    let here = i64::try_from(here.unwrap_or_default().as_micros()).unwrap_or(i64::MAX);
    let client = ready.requests.client.clone();
    let replicas = ready
        .requests
        .ask(client.simple_query(&pinned(REPLICAS)))
        .await?;
    let problems = pinned(&script::problems());
    let problems = ready.requests.ask(client.simple_query(&problems)).await?;
    let guarantees = ready.facts.guarantees(&connector.options);
    let mut server = Server::new(ready.requests.address.to_string(), guarantees);
    server.closed_for = ready
        .epoch
        .closed
        .and_then(|closed| closed.left(clock::now()));
    let mut words = ready.facts.version.split_whitespace();
    server.version = words.nth(1).map(str::to_owned);
    let now: Option<i64> = time.get(0).and_then(|text| text.parse().ok());
    server.clock_ahead_ms = now.map(|now| now.saturating_sub(here) / 1000);
    server.round_trip = round_trip;
    let text = |row: &SimpleQueryRow, index| row.get(index).unwrap_or_default().to_owned();
    let problems = rows(problems).map(|row| [0, 1, 2].map(|index| text(&row, index)));
    server.problems = problems.collect();
    let mut add = |id, problem: &'static str| {
        let (meaning, remedy) = problem.split_once(": ").unwrap_or((problem, ""));
        let problem = [id, meaning, remedy].map(str::to_owned);
        server.problems.push(problem);
    };
    if !is_empty(ready) && ready.epoch.id.is_nil() {
        add("locks-lost", LOST);
    }
    // Clients that listen would be refused.
    if !connector.is_pooled() && ready.facts.pid != ready.requests.pid {
        add("pooler", POOLER);
    }
    let replicas = rows(replicas).map(|row| {
        let lag = row.get(2).and_then(|text| text.parse().ok());
        let address = row.get(0).unwrap_or_default().to_owned();
        Replica::new(
            address,
            row.get(1) == Some("t"),
            lag.map(Duration::from_secs),
        )
    });
    server.replicas = replicas.collect();
    Ok(server)
}
