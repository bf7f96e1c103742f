//! [`Inspector`]: reads names and their state from one server, and changes nothing there.

use std::time::{Duration, SystemTime};

use auto_mutex_core::store::{
    Described, KeyAt, KeyEnd, Name, NameRecord, Op, Part, Position, Reader, Reading, Replica,
    Reply, Server, Snapshot,
};
use auto_mutex_core::{SetupError, StoreError};

use super::command::KEY;
use super::connect::error::{ConnectError, accept};
use super::connect::facts::{Facts, number};
use super::connect::{Connector, Ready};
use super::error::{self, Code};
use super::{Spec, reply, term};
use crate::wire::{ErrorReply, Value};

const PAGE: u64 = 1000;
const ALL_KEYS: &str = "auto_mutex:*";

pub(crate) struct Inspector {
    connector: Connector,
    opened: Option<Ready>,
}

impl Inspector {
    /// `spec`: with the id of no member, because the scripts need an id, but an inspector is no member.
    pub(crate) fn new(spec: Spec) -> Self {
        Self {
            connector: Connector::new(Spec {
                reads: true,
                ..spec
            }),
            opened: None,
        }
    }

    fn place(&self) -> String {
        self.connector.place()
    }

    async fn scan(
        &mut self,
        pattern: &str,
        position: &Position,
        more: &[&str],
    ) -> Result<Part<String>, SetupError> {
        let mut question = redis::cmd("SCAN");
        question.arg(&position.cursor).arg("MATCH").arg(pattern);
        question.arg("COUNT").arg(PAGE).arg(more);
        let found = self.with(async |_: &Connector, opened: &mut Ready| {
            Ok(page(opened.connection.ask(&question).await?))
        });
        let (keys, next) = found.await?.map_err(|error| error.at(&self.place()))?;
        Ok((keys, position.after(next, 1)))
    }

    async fn ends_of(&mut self, keys: &[String]) -> Result<Vec<i64>, SetupError> {
        let mut questions = Vec::new();
        for key in keys {
            let mut question = redis::cmd("PTTL");
            question.arg(key).write_packed_command(&mut questions);
        }
        let ends = self.with(async |_: &Connector, opened: &mut Ready| {
            opened.connection.send(&questions).await?;
            let mut ends = Vec::with_capacity(keys.len());
            for _ in keys {
                ends.push(match opened.connection.reply().await? {
                    Value::Integer(end) => Ok(end),
                    reply => accept(reply).map(|_| 0),
                });
            }
            Ok(ends)
        });
        let ends: Result<_, _> = ends.await?.into_iter().collect();
        ends.map_err(|error: ConnectError| error.at(&self.place()))
    }

    async fn inspect_once(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let mut questions = Vec::new();
        redis::cmd("TIME").write_packed_command(&mut questions);
        for name in names {
            self.connector
                .evaluate(name, &Op::Inspect, 0, &mut questions);
        }
        let found = self.with(async |_: &Connector, opened: &mut Ready| {
            opened.connection.send(&questions).await?;
            let now = time(opened.connection.reply().await?);
            let mut states = Vec::with_capacity(names.len());
            for _ in names {
                states.push(record(&opened.connection.reply().await?));
            }
            Ok((now, states))
        });
        let (now, names) = found.await?;
        let now = now.map_err(|error| error.at(&self.place()))?;
        Ok(Snapshot { now, names })
    }

    /// Asks again on a new connection if one that was open before fails. Queries change nothing, so that's harmless.
    async fn with<T>(
        &mut self,
        mut ask: impl AsyncFnMut(&Connector, &mut Ready) -> Result<T, ConnectError>,
    ) -> Result<T, SetupError> {
        let was_open = self.opened.is_some();
        let mut asked = self.attempt(&mut ask).await;
        if asked.is_err() && was_open {
            self.opened = None;
            asked = self.attempt(&mut ask).await;
        }
        asked.map_err(|error| {
            self.opened = None;
            error.at(&self.place())
        })
    }

    async fn attempt<T>(
        &mut self,
        ask: &mut impl AsyncFnMut(&Connector, &mut Ready) -> Result<T, ConnectError>,
    ) -> Result<T, ConnectError> {
        let opened = match &mut self.opened {
            Some(opened) => opened,
            closed => {
                let silence = self.connector.spec.connect_timeout;
                closed.insert(self.connector.unsubscribed(silence).await?)
            }
        };
        ask(&self.connector, opened).await
    }
}

impl Reader for Inspector {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(self.with(async |_: &Connector, _: &mut Ready| Ok(())))
    }

    fn names<'a>(
        &'a mut self,
        pattern: &'a str,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<Name>, SetupError>> {
        Box::pin(async move {
            let pattern = format!("{KEY}{pattern}}}");
            let (keys, next) = self.scan(&pattern, position, &["TYPE", "string"]).await?;
            Ok((keys.iter().filter_map(|key| name_of(key)).collect(), next))
        })
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(async {
            let snapshot = self.inspect_once(names).await?;
            if !snapshot.names.iter().any(is_flushed) {
                return Ok(snapshot);
            }
            self.opened = None;
            self.inspect_once(names).await
        })
    }

    fn keys<'a>(
        &'a mut self,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<KeyAt>, SetupError>> {
        Box::pin(async {
            let place = self.place();
            let (keys, next) = self.scan(ALL_KEYS, position, &[]).await?;
            let ends = self.ends_of(&keys).await?;
            let keys = keys.into_iter().zip(ends).map(|(key, end)| {
                let end = KeyEnd {
                    name: name_of(&key),
                    never: end == -1,
                    key,
                };
                (place.clone(), end)
            });
            Ok((keys.collect(), next))
        })
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async {
            let described = self.with(describe).await;
            vec![described.map_err(|error| (self.place(), error))]
        })
    }
}

/// Whether the server has lost the scripts. A new connection loads them again.
fn is_flushed<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(error) if Code::of_error(error) == Code::NoScript)
}

async fn describe(connector: &Connector, opened: &mut Ready) -> Result<Server, ConnectError> {
    let connection = &mut opened.connection;
    let mut question = Vec::new();
    term::ask_lag(&mut question);
    connection.send(&question).await?;
    let lag = term::lag(&connection.reply().await?);
    let facts = Facts::ask(connection, lag).await?;
    let asked = SystemTime::now();
    let now = micros(&connection.ask(&redis::cmd("TIME")).await?);
    let round_trip = asked.elapsed().unwrap_or_default();
    let here = (asked + round_trip / 2).duration_since(SystemTime::UNIX_EPOCH);
    let here = i64::try_from(here.unwrap_or_default().as_micros()).unwrap_or(i64::MAX);
    let ahead = |now: u64| i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(here) / 1000;
    let address = opened.server.address.to_string();
    let mut server = Server::new(address, connector.guarantees_by(&facts));
    server.version = facts.field("redis_version").map(str::to_owned);
    server.clock_ahead_ms = now.map(ahead);
    server.round_trip = round_trip;
    server.knew_scripts = opened.knew_scripts;
    server.replicas = (0..).map_while(|number| replica(&facts, number)).collect();
    server.used_memory = number(facts.field("used_memory"));
    server.max_memory = number(facts.field("maxmemory")).filter(|most| *most > 0);
    Ok(server)
}

/// The other keys of a name do not end with the brace.
fn name_of(key: &str) -> Option<Name> {
    Name::parse(key.strip_prefix(KEY)?.strip_suffix('}')?)
}

fn page(value: Value<'_>) -> Result<(Vec<String>, Option<String>), ConnectError> {
    let value = accept(value)?;
    let Some([cursor, Value::List(keys)]) = value.as_list() else {
        return Err(ConnectError::nonsense());
    };
    let cursor = cursor.as_text().ok_or_else(ConnectError::nonsense)?;
    // All keys of the library are text, so other keys are skipped.
    let keys = keys.iter().filter_map(Value::as_text).map(str::to_owned);
    let next = (cursor != "0").then(|| cursor.to_owned());
    Ok((keys.collect(), next))
}

fn record(value: &Value<'_>) -> Result<NameRecord, StoreError> {
    match reply::parse(value, &Op::Inspect)? {
        Reply::Info(record) => Ok(record),
        _ => Err(error::of_server(&ErrorReply::new(
            b"ERR the reply is not that of an inspection",
        ))),
    }
}

fn time(value: Value<'_>) -> Result<u64, ConnectError> {
    micros(&accept(value)?).ok_or_else(ConnectError::nonsense)
}

fn micros(value: &Value<'_>) -> Option<u64> {
    let parts = value.as_list()?;
    let part = |index: usize| parts.get(index)?.as_text()?.parse::<u64>().ok();
    Some(part(0)?.saturating_mul(1_000_000).saturating_add(part(1)?))
}

/// Reads a line like `slave0:ip=10.0.0.2,port=6379,state=online,offset=1,lag=0`.
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
