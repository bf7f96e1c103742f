//! [`Inspector`]: reads names and their state from one server, and changes nothing.

use std::time::{Duration, SystemTime};

use auto_mutex_net::Connects as _;
use auto_mutex_seam::store::{
    Described, Key, Name, NameRecord, Op, Page, Reader, Reading, Replica, Reply, Server, Snapshot,
    clock, lock,
};
use auto_mutex_seam::{SetupError, StoreError};

use crate::connect::epoch::Epoch;
use crate::connect::facts::{Facts, number};
use crate::connect::{Connector, Ready};
use crate::error::Code;
use crate::login::error::{ConnectError, accept, accepted, nonsense, refused};
use crate::script::command::KEY;
use crate::script::{LONGEST_IDLE, is_idle, reply};
use crate::wire::Value;

const PAGE: u64 = 1000;
const ALL_KEYS: &str = "auto_mutex:*";

/// A reader of one server. After a failover, it reads from the new primary.
pub(crate) struct Inspector {
    pub(crate) connector: Connector,
    opened: Option<Ready>,
}

impl Inspector {
    pub(crate) fn new(mut connector: Connector) -> Self {
        connector.reads = true;
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
        let failed = |error: ConnectError| error.at(&connector.address());
        if let Some(mut ready) = self.opened.take()
            && let Ok(answer) = ask(connector, &mut ready).await
        {
            self.opened = Some(ready);
            return Ok(answer);
        }
        let opening = connector.unsubscribed(connector.guard.options.connect_timeout);
        let mut ready = opening.await.map_err(failed)?;
        let answer = ask(connector, &mut ready).await.map_err(failed)?;
        self.opened = Some(ready);
        Ok(answer)
    }
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
        Box::pin(self.with(async move |connector, ready| {
            let connection = &mut ready.connection;
            let mut question = redis::cmd("SCAN");
            question.arg(cursor).arg("COUNT").arg(PAGE).arg("MATCH");
            match pattern {
                Some(pattern) => {
                    let keys = format!("{KEY}{pattern}}}");
                    question.arg(keys).arg("TYPE").arg("string")
                }
                None => question.arg(ALL_KEYS),
            };
            let mut page = page(connection.ask(&question).await?, &connector.address())?;
            let mut questions = redis::pipe();
            for found in &page.keys {
                if pattern.is_none() {
                    questions.cmd("PTTL").arg(&found.key);
                }
                if found.name.is_some() {
                    let start = questions.cmd("GETRANGE").arg(&found.key);
                    start.arg(0).arg(LONGEST_IDLE);
                }
            }
            connection.send(&questions.get_packed_pipeline()).await?;
            for found in &mut page.keys {
                if pattern.is_none() {
                    let end = accept(connection.reply().await?)?;
                    found.never_ends = end == Value::Integer(-1);
                }
                if found.name.is_some() {
                    let start = connection.reply().await?;
                    found.idle = match accepted(&start) {
                        Ok(()) => matches!(start, Value::Text(state) if is_idle(state)),
                        Err(error) if Code::of_error(&error) == Code::NoPerm => {
                            return Err(refused(error));
                        }
                        // The error is foreign data or a moved slot, which reading the state will show.
                        Err(_) => false,
                    };
                }
            }
            Ok(page)
        }))
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(self.with(async move |connector, ready| {
            let connection = &mut ready.connection;
            let mut questions = redis::pipe();
            questions.cmd("TIME");
            for name in names {
                questions.add_command(connector.evaluation(name, None, &Op::Inspect { above: 0 }));
            }
            connection.send(&questions.get_packed_pipeline()).await?;
            let now = micros(&accept(connection.reply().await?)?);
            let now = now.ok_or_else(nonsense)?;
            let mut states = Vec::new();
            for _ in names {
                states.push(state(&connection.reply().await?)?);
            }
            Ok(Snapshot { now, names: states })
        }))
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async {
            let described = self.with(describe).await;
            vec![described.map_err(|error| (self.connector.address(), error))]
        })
    }
}

async fn describe(connector: &Connector, opened: &mut Ready) -> Result<Server, ConnectError> {
    let connection = &mut opened.connection;
    let facts = Facts::ask(connection, opened.epoch.lag).await?;
    let asked = SystemTime::now();
    let now = micros(&connection.ask(&redis::cmd("TIME")).await?);
    let round_trip = asked.elapsed().unwrap_or_default();
    let here = (asked + round_trip / 2).duration_since(SystemTime::UNIX_EPOCH);
    let here = i64::try_from(here.unwrap_or_default().as_micros()).unwrap_or(i64::MAX);
    let ahead = |now: u64| i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(here) / 1000;
    let address = opened.server.address.to_string();
    let guard = connector.guard.reading();
    let epoch = Epoch::ask(connection, &connector.scripts, &guard, opened.epoch.lag).await?;
    let is_reported = lock(&guard.keys).reported.2 > 0;
    let closed = epoch.closed.filter(|_| is_reported);
    let mut server = Server::new(address, facts.guarantees(&connector.guard));
    server.closed_for = closed.and_then(|closed| closed.left(clock::now()));
    server.version = facts.field("redis_version").map(str::to_owned);
    server.clock_ahead_ms = now.map(ahead);
    server.round_trip = round_trip;
    server.knew_scripts = opened.knew_scripts;
    server.replicas = (0..).map_while(|number| replica(&facts, number)).collect();
    server.used_memory = number(facts.field("used_memory"));
    server.max_memory = number(facts.field("maxmemory")).filter(|most| *most > 0);
    Ok(server)
}

/// Returns the name if `key` is the first key of a name. A name's other keys do not end with the brace.
fn name_of(key: &str) -> Option<Name> {
    Name::parse(key.strip_prefix(KEY)?.strip_suffix('}')?)
}

/// Skips keys that are not text, because keys of the library always are.
fn page(reply: Value<'_>, server: &str) -> Result<Page, ConnectError> {
    let reply = accept(reply)?;
    let Some([cursor, Value::List(keys)]) = reply.as_list() else {
        return Err(nonsense());
    };
    let cursor = cursor.as_text().ok_or_else(nonsense)?;
    let keys = keys.iter().filter_map(Value::as_text);
    let keys = keys.map(|key| Key::new(server.to_owned(), key.to_owned(), name_of(key).as_ref()));
    Ok(Page {
        keys: keys.collect(),
        next: (cursor != "0").then(|| cursor.to_owned()),
    })
}

/// Fails as a whole if the server has lost the scripts. A new connection loads them again.
fn state(reply: &Value<'_>) -> Result<Result<NameRecord, StoreError>, ConnectError> {
    match reply::parse(reply, &Op::Inspect { above: 0 }) {
        Ok(Reply::Info(record)) => Ok(Ok(record)),
        Ok(_) => Ok(Err(reply::nonsense())),
        Err(error) if Code::of_error(&error) == Code::NoScript => Err(refused(error)),
        Err(error) => Ok(Err(error)),
    }
}

fn micros(value: &Value<'_>) -> Option<u64> {
    let parts = value.as_list()?;
    let part = |index: usize| parts.get(index)?.as_text()?.parse::<u64>().ok();
    Some(part(0)?.saturating_mul(1_000_000).saturating_add(part(1)?))
}

/// Parses a line like `slave0:ip=10.0.0.2,port=6379,state=online,offset=1,lag=0`.
fn replica(facts: &Facts, number: usize) -> Option<Replica> {
    let line = facts.field(&format!("slave{number}"))?;
    let field = |name: &str| {
        let mut pairs = line.split(',').filter_map(|pair| pair.split_once('='));
        pairs.find_map(|(key, value)| (key == name).then_some(value))
    };
    let address = format!("{}:{}", field("ip")?, field("port")?);
    let lag = field("lag").and_then(|lag| Some(Duration::from_secs(lag.parse().ok()?)));
    Some(Replica::new(address, field("state") == Some("online"), lag))
}
