//! [`Inspector`]: reads names and their state from one server, and changes nothing there.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use redis::Cmd;

use super::command::{self, EDGES, KEY};
use super::connect::error::{ConnectError, accept};
use super::connect::facts::{Facts, number};
use super::connect::inspect::{self, Opened};
use super::route::Route;
use super::scripts::Scripts;
use super::term::{self, Guard};
use super::{error, reply};
use crate::config::Access;
use crate::error::{SetupError, StoreError};
use crate::name::Name;
use crate::order::ORDER_NAME;
use crate::store::inspector::{KeyEnd, Page, Replica, Server, Snapshot};
use crate::store::{MemberId, NameRecord, Op, Reply};
use crate::wire::{ErrorReply, Limits, Value};

/// How many keys the server reads for one page of a scan.
const PAGE: u64 = 1000;
/// All keys of the library.
const ALL_KEYS: &str = "auto_mutex:*";

/// A reader of one server. After a failover, it reads from the new server.
pub(crate) struct Inspector {
    route: Route,
    access: Access,
    scripts: Arc<Scripts>,
    guard: Guard,
    /// How many replicas must have a grant.
    replicas: u32,
    connect_timeout: Duration,
    opened: Option<Opened>,
}

impl Inspector {
    pub(in crate::store) fn new(
        route: Route,
        access: &Access,
        scripts: Arc<Scripts>,
        guard: Guard,
        replicas: u32,
        connect_timeout: Duration,
    ) -> Self {
        Self {
            route,
            access: access.clone(),
            scripts,
            guard,
            replicas,
            connect_timeout,
            opened: None,
        }
    }

    /// The server's name in errors.
    pub(in crate::store) fn place(&self) -> String {
        self.route.place()
    }

    /// Connects, unless there is a connection.
    pub(in crate::store) async fn connect(&mut self) -> Result<(), SetupError> {
        self.ask(&[], 0, |_, _| {}).await
    }

    /// Returns the next names that match `pattern`. The first cursor is `0`. As with SCAN, a name may be returned twice.
    pub(in crate::store) async fn names(
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

    /// Returns the next keys of the library, and whether they expire.
    pub(in crate::store) async fn keys(
        &mut self,
        cursor: &str,
    ) -> Result<Page<KeyEnd>, SetupError> {
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

    /// Returns the next names under which the lock order of a namespace is kept.
    pub(in crate::store) async fn orders(
        &mut self,
        cursor: &str,
    ) -> Result<Page<Name>, SetupError> {
        let pattern = format!("{KEY}{ORDER_NAME}*}}{EDGES}");
        let page = self.scan(&pattern, cursor, &["TYPE", "hash"]).await?;
        let names = page.items.iter();
        let names = names.filter_map(|key| name_of(key.strip_suffix(EDGES)?));
        Ok(Page {
            items: names.collect(),
            next: page.next,
        })
    }

    /// Returns the lock order that is kept under this name: a [`Reply::Order`].
    pub(in crate::store) async fn order(&mut self, name: &Name) -> Result<Reply, SetupError> {
        let mut answer = self.order_once(name).await?;
        if matches!(&answer, Err(error) if error.code() == Some("NOSCRIPT")) {
            // The scripts were flushed. A new connection loads them.
            self.opened = None;
            answer = self.order_once(name).await?;
        }
        answer.map_err(|error| ConnectError::of(error).at(&self.place()))
    }

    async fn order_once(&mut self, name: &Name) -> Result<Result<Reply, StoreError>, SetupError> {
        let op = Op::Order {
            since: 0,
            edges: [].into(),
            claims: [].into(),
        };
        let mut question = Cmd::new();
        let nobody = MemberId::random();
        command::evaluate(&mut question, &self.scripts, nobody, name, &[&op], 0);
        let mut answer = Ok(Reply::Gone);
        self.ask(&question.get_packed_command(), 1, |_, value| {
            answer = reply::parse(value, &op)
        })
        .await?;
        Ok(answer)
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

    /// Returns for each name whether its first key exists.
    pub(in crate::store) async fn known(
        &mut self,
        names: &[Name],
    ) -> Result<Vec<bool>, SetupError> {
        let mut questions = Vec::new();
        for name in names {
            let mut exists = redis::cmd("EXISTS");
            command::key_of(&mut exists, name, "");
            exists.write_packed_command(&mut questions);
        }
        let known = self.numbers(&questions, names.len()).await?;
        Ok(known.into_iter().map(|count| count == 1).collect())
    }

    /// Sends questions whose replies are numbers. A missing right is an error.
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

    /// Returns the state of each name.
    pub(in crate::store) async fn inspect(
        &mut self,
        names: &[Name],
    ) -> Result<Snapshot, SetupError> {
        let snapshot = self.inspect_once(names).await?;
        let is_lost = |state: &Result<_, StoreError>| matches!(state, Err(error) if error.code() == Some("NOSCRIPT"));
        if !snapshot.names.iter().any(is_lost) {
            return Ok(snapshot);
        }
        // The scripts were flushed. A new connection loads them.
        self.opened = None;
        self.inspect_once(names).await
    }

    async fn inspect_once(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let mut questions = Vec::new();
        redis::cmd("TIME").write_packed_command(&mut questions);
        let nobody = MemberId::random();
        for name in names {
            let ops = [&Op::Inspect];
            command::evaluate(&mut Cmd::new(), &self.scripts, nobody, name, &ops, 0)
                .write_packed_command(&mut questions);
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
    pub(in crate::store) async fn server(&mut self) -> Result<Server, SetupError> {
        let was_open = self.opened.is_some();
        self.connect().await?;
        let mut described = self.describe().await;
        if described.is_err() && was_open {
            // The connection may have ended since the last query.
            self.opened = None;
            self.connect().await?;
            described = self.describe().await;
        }
        described.map_err(|error| {
            self.opened = None;
            error.at(&self.place())
        })
    }

    async fn describe(&mut self) -> Result<Server, ConnectError> {
        let Some(opened) = &mut self.opened else {
            return Err(ConnectError::nonsense());
        };
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
        Ok(Server {
            address: opened.address.to_string(),
            version: facts.field("redis_version").map(str::to_owned),
            guarantees: facts.guarantees(&self.guard, self.replicas),
            clock_ahead_ms: now.map(ahead),
            round_trip,
            knew_scripts: opened.knew_scripts,
            replicas: (0..).map_while(|number| replica(&facts, number)).collect(),
            used_memory: number(facts.field("used_memory")),
            max_memory: number(facts.field("maxmemory")).filter(|most| *most > 0),
        })
    }

    /// Sends `questions`, and passes each of the `count` replies to `read`. If a connection that was open before is lost,
    /// sends all questions once more on a new connection. That is harmless, because the questions change nothing.
    async fn ask(
        &mut self,
        questions: &[u8],
        count: usize,
        mut read: impl FnMut(usize, &Value<'_>),
    ) -> Result<(), SetupError> {
        let was_open = self.opened.is_some();
        let mut asked = self.attempt(questions, count, &mut read).await;
        if asked.is_err() && was_open {
            self.opened = None;
            asked = self.attempt(questions, count, &mut read).await;
        }
        asked.map_err(|error| {
            self.opened = None;
            error.at(&self.place())
        })
    }

    async fn attempt(
        &mut self,
        questions: &[u8],
        count: usize,
        read: &mut impl FnMut(usize, &Value<'_>),
    ) -> Result<(), ConnectError> {
        let limits = Limits::new(self.connect_timeout, self.connect_timeout);
        let opened = match &mut self.opened {
            Some(opened) => opened,
            closed => {
                let opening = inspect::open(&self.route, &self.access, &self.scripts, limits);
                closed.insert(limits.within(opening).await?)
            }
        };
        opened.connection.send(questions).await?;
        for index in 0..count {
            read(index, &opened.connection.reply().await?);
        }
        Ok(())
    }
}

/// Returns the name, if `key` is the first key of a name. The other keys of a name do not end with the brace.
fn name_of(key: &str) -> Option<Name> {
    Name::parse(key.strip_prefix(KEY)?.strip_suffix('}')?)
}

/// Reads the reply to SCAN: a cursor, and keys.
fn page(value: &Value<'_>) -> Result<Page<String>, ConnectError> {
    let value = accept(value.clone())?;
    let Value::List(parts) = &value else {
        return Err(ConnectError::nonsense());
    };
    let [cursor, Value::List(keys)] = parts.as_slice() else {
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

/// Like [`micros`]. A missing right is an error.
fn time(value: &Value<'_>) -> Result<u64, ConnectError> {
    let value = accept(value.clone())?;
    micros(&value).ok_or_else(ConnectError::nonsense)
}

/// Reads the reply to TIME, as microseconds.
fn micros(value: &Value<'_>) -> Option<u64> {
    let Value::List(parts) = value else {
        return None;
    };
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
    Some(Replica {
        address: format!("{}:{}", field("ip")?, field("port")?),
        is_online: field("state") == Some("online"),
        lag: field("lag").and_then(|lag| Some(Duration::from_secs(lag.parse().ok()?))),
    })
}
