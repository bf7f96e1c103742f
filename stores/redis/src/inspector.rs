//! [`Inspector`]: reads names and their state from one server, and changes nothing there.

use std::time::{Duration, SystemTime};

use auto_mutex_core::store::{
    Described, KeyAt, KeyEnd, Name, NameRecord, Op, Page, Part, Position, Reader, Reading, Replica,
    Reply, Server, Snapshot,
};
use auto_mutex_core::{SetupError, StoreError};
use redis::Cmd;

use super::command::{self, KEY};
use super::connect::error::{ConnectError, accept};
use super::connect::facts::{Facts, number};
use super::connect::{Connector, Ready};
use super::error::{self, Code};
use super::{Spec, reply, term};
use crate::wire::{ErrorReply, Value};

const PAGE: u64 = 1000;
const ALL_KEYS: &str = "auto_mutex:*";

/// A reader of one server. After a failover, it reads from the new primary.
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

    pub(crate) fn place(&self) -> String {
        self.connector.place()
    }

    pub(crate) async fn connect(&mut self) -> Result<(), SetupError> {
        self.with(async |_: &Connector, _: &mut Ready| Ok(())).await
    }

    /// Returns the next names that match `pattern`. The first cursor is `0`. As with SCAN, a name may be returned twice.
    pub(crate) async fn names(
        &mut self,
        pattern: &str,
        cursor: &str,
    ) -> Result<Page<Name>, SetupError> {
        let pattern = format!("{KEY}{pattern}}}");
        let page = self.scan(&pattern, cursor, &["TYPE", "string"]).await?;
        Ok(Page {
            items: page.items.iter().filter_map(|key| name_of(key)).collect(),
            next: page.next,
        })
    }

    pub(crate) async fn keys(&mut self, cursor: &str) -> Result<Page<KeyEnd>, SetupError> {
        let page = self.scan(ALL_KEYS, cursor, &[]).await?;
        let mut questions = Vec::new();
        for key in &page.items {
            redis::cmd("PTTL")
                .arg(key)
                .write_packed_command(&mut questions);
        }
        let ends = self.numbers(&questions, page.items.len()).await?;
        let keys = page.items.into_iter().zip(ends);
        Ok(Page {
            items: keys
                .map(|(key, end)| KeyEnd {
                    name: name_of(&key),
                    never: end == -1,
                    key,
                })
                .collect(),
            next: page.next,
        })
    }

    fn evaluate(&self, name: &Name, op: &Op, out: &mut Vec<u8>) {
        let Connector {
            scripts, member, ..
        } = &self.connector;
        command::evaluate(&mut Cmd::new(), scripts, *member, name, &[op], 0)
            .write_packed_command(out);
    }

    async fn scan(
        &mut self,
        pattern: &str,
        cursor: &str,
        more: &[&str],
    ) -> Result<Page<String>, SetupError> {
        let mut question = redis::cmd("SCAN");
        question.arg(cursor).arg("MATCH").arg(pattern);
        question.arg("COUNT").arg(PAGE).arg(more);
        let mut found = Err(ConnectError::nonsense());
        self.ask(&question.get_packed_command(), 1, |_, value| {
            found = page(value)
        })
        .await?;
        found.map_err(|error| error.at(&self.place()))
    }

    /// Sends `questions`, whose replies are numbers. Fails if a reply is an error, for example because of a missing right.
    async fn numbers(&mut self, questions: &[u8], count: usize) -> Result<Vec<i64>, SetupError> {
        let (mut numbers, mut refused) = (vec![0; count], None);
        self.ask(questions, count, |index, value| match value {
            Value::Integer(number) => numbers[index] = *number,
            Value::Error(error) => refused = Some(error::of_server(error)),
            _ => {}
        })
        .await?;
        match refused {
            Some(error) => Err(ConnectError::of(error).at(&self.place())),
            None => Ok(numbers),
        }
    }

    pub(crate) async fn inspect(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let snapshot = self.inspect_once(names).await?;
        if !snapshot.names.iter().any(is_flushed) {
            return Ok(snapshot);
        }
        self.opened = None;
        self.inspect_once(names).await
    }

    async fn inspect_once(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let mut questions = Vec::new();
        redis::cmd("TIME").write_packed_command(&mut questions);
        for name in names {
            self.evaluate(name, &Op::Inspect, &mut questions);
        }
        let mut now = Err(ConnectError::nonsense());
        let mut states = vec![Ok(NameRecord::default()); names.len()];
        self.ask(&questions, names.len() + 1, |index, value| {
            match index.checked_sub(1) {
                None => now = time(value),
                Some(index) => states[index] = record(value),
            }
        })
        .await?;
        Ok(Snapshot {
            now: now.map_err(|error| error.at(&self.place()))?,
            names: states,
        })
    }

    /// Asks the server to describe itself.
    pub(crate) async fn described(&mut self) -> Described {
        let described = self.server().await;
        described.map_err(|error| (self.place(), error))
    }

    async fn server(&mut self) -> Result<Server, SetupError> {
        self.with(describe).await
    }

    async fn ask(
        &mut self,
        questions: &[u8],
        count: usize,
        mut read: impl FnMut(usize, &Value<'_>),
    ) -> Result<(), SetupError> {
        self.with(async |_: &Connector, opened: &mut Ready| {
            opened.connection.send(questions).await?;
            for index in 0..count {
                read(index, &opened.connection.reply().await?);
            }
            Ok(())
        })
        .await
    }

    /// Runs `ask` once more on a new connection if it fails on one that was open before, which may have ended. Queries
    /// change nothing, so that's harmless.
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
                let silence = self.connector.connect_timeout;
                closed.insert(self.connector.unsubscribed(silence).await?)
            }
        };
        ask(&self.connector, opened).await
    }
}

impl Reader for Inspector {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(Self::connect(self))
    }

    fn names<'a>(
        &'a mut self,
        pattern: &'a str,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<Name>, SetupError>> {
        Box::pin(async {
            let Page { items, next } = Self::names(self, pattern, &position.cursor).await?;
            Ok((items, position.after(next, 1)))
        })
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(Self::inspect(self, names))
    }

    fn keys<'a>(
        &'a mut self,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<KeyAt>, SetupError>> {
        Box::pin(async {
            let place = self.place();
            let Page { items, next } = Self::keys(self, &position.cursor).await?;
            let keys = items.into_iter().map(|key| (place.clone(), key));
            Ok((keys.collect(), position.after(next, 1)))
        })
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async { vec![self.described().await] })
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

/// Returns the name, if `key` is the first key of a name. The other keys of a name do not end with the brace.
fn name_of(key: &str) -> Option<Name> {
    Name::parse(key.strip_prefix(KEY)?.strip_suffix('}')?)
}

fn page(value: &Value<'_>) -> Result<Page<String>, ConnectError> {
    let value = accept(value.clone())?;
    let Some([cursor, Value::List(keys)]) = value.as_list() else {
        return Err(ConnectError::nonsense());
    };
    let cursor = cursor.as_text().ok_or_else(ConnectError::nonsense)?;
    Ok(Page {
        // All keys of the library are text, so other keys are skipped.
        items: keys
            .iter()
            .filter_map(Value::as_text)
            .map(str::to_owned)
            .collect(),
        next: (cursor != "0").then(|| cursor.to_owned()),
    })
}

fn record(value: &Value<'_>) -> Result<NameRecord, StoreError> {
    match reply::parse(value, &Op::Inspect)? {
        Reply::Info(record) => Ok(record),
        _ => Err(error::of_server(&ErrorReply::new(
            b"ERR the reply is not that of an inspection",
        ))),
    }
}

/// Like [`micros`], but fails if the reply is an error or malformed.
fn time(value: &Value<'_>) -> Result<u64, ConnectError> {
    let value = accept(value.clone())?;
    micros(&value).ok_or_else(ConnectError::nonsense)
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
