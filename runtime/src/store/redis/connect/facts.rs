//! [`Facts`]: how a server stores its data, and how reliable locks are on it.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use super::super::term::Guard;
use crate::guarantees::{AfterFailover, AfterRestart, Eviction, Guarantees};
use crate::wire::{self, Connection, Value};

/// Settings that INFO does not show.
const SETTINGS: [&str; 3] = ["appendfsync", "save", "min-replicas-to-write"];

/// A field is `None` if the server does not report it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Facts {
    info: Option<String>,
    settings: [Option<String>; SETTINGS.len()],
    /// How long a primary keeps accepting writes after it has lost its replicas.
    lag: Duration,
}

impl Facts {
    /// Asks for everything, in one round trip.
    pub(in super::super) async fn ask(
        connection: &mut Connection,
        lag: Duration,
    ) -> io::Result<Self> {
        let mut question = Vec::new();
        wire::command(&mut question, |words| words.text("INFO"));
        for name in SETTINGS {
            wire::command(&mut question, |words| words.texts(&["CONFIG", "GET", name]));
        }
        connection.send(&question).await?;
        let mut facts = Self {
            info: text(&connection.reply().await?),
            lag,
            ..Self::default()
        };
        for setting in &mut facts.settings {
            *setting = match connection.reply().await? {
                Value::Map(pairs) => pairs.first().and_then(|(_, value)| text(value)),
                _ => None,
            };
        }
        Ok(facts)
    }

    /// Reads the facts from replies to INFO and to the settings.
    #[cfg(any(test, fuzzing))]
    pub(in super::super) fn of(said: &[Value<'_>], lag: Duration) -> Self {
        let said = |index| said.get(index).and_then(text);
        Self {
            info: said(0),
            settings: std::array::from_fn(|index| said(index + 1)),
            lag,
        }
    }

    /// A field of INFO.
    pub(in super::super) fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.info.as_deref()?.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    }

    fn setting(&self, name: &str) -> Option<&str> {
        let index = SETTINGS.iter().position(|known| *known == name)?;
        self.settings[index].as_deref()
    }

    /// The guarantees that follow from the facts.
    pub(in super::super) fn guarantees(&self, guard: &Guard, replicas: u32) -> Guarantees {
        let mut missing_rights = BTreeSet::new();
        if self.info.is_none() {
            missing_rights.insert("info");
        }
        if self.settings.contains(&None) {
            missing_rights.insert("config|get");
        }
        Guarantees {
            restart: self.restart(guard),
            failover: self.failover(guard),
            eviction: self.eviction(),
            replicas,
            fifo: true,
            fencing_tokens: true,
            missing_rights,
        }
    }

    fn restart(&self, guard: &Guard) -> AfterRestart {
        let aof = self.field("aof_enabled").map(|value| value != "0");
        let snapshots = self.setting("save").is_some_and(|times| !times.is_empty());
        let data = match (aof, self.setting("appendfsync")) {
            (Some(true), Some("always")) => AfterRestart::Kept,
            (Some(true), Some(_)) => AfterRestart::LastForgotten,
            (Some(false), _) if snapshots => AfterRestart::LastForgotten,
            (Some(false), _) => AfterRestart::Forgotten,
            (Some(true), None) | (None, _) => AfterRestart::Unknown,
        };
        if guard.restart && data != AfterRestart::Kept {
            let time = guard.after_restart(self.lag);
            return AfterRestart::Closed { time };
        }
        data
    }

    fn failover(&self, guard: &Guard) -> AfterFailover {
        match number(self.field("connected_slaves")) {
            None => return AfterFailover::Unknown,
            Some(0) => return AfterFailover::NoReplicas,
            Some(_) => {}
        }
        let time = guard.after_failover(self.lag);
        match number(self.setting("min-replicas-to-write")) {
            None => AfterFailover::Unknown,
            Some(0) => AfterFailover::OldPrimaryGoesOn { time },
            Some(_) => AfterFailover::Closed { time },
        }
    }

    fn eviction(&self) -> Eviction {
        let policy = match self.field("maxmemory_policy") {
            None => return Eviction::Unknown,
            Some("noeviction") => return Eviction::Never,
            Some(policy) => policy.to_owned(),
        };
        match self.field("maxmemory") {
            Some("0") => Eviction::NoLimit { policy },
            _ => Eviction::Possible { policy },
        }
    }
}

fn number(text: Option<&str>) -> Option<u64> {
    text?.parse().ok()
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}
