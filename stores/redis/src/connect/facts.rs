//! [`Facts`]: how a server stores its data, and how safe locks are there.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use auto_mutex_seam::{AfterFailover, AfterRestart, Eviction, Guarantees};

use crate::connect::epoch::Guard;
use crate::error::Code;
use crate::wire::{Connection, Value};

const SETTINGS: [&str; 3] = ["appendfsync", "save", "min-replicas-to-write"];
/// The answers to INFO and to each CONFIG GET, in this order.
type Answers = [Answer; 1 + SETTINGS.len()];

/// The error is [`Code::NoPerm`] if the right to ask is missing. Otherwise the command is disabled or renamed for every
/// user, as CONFIG is on managed services.
pub(crate) type Answer = Result<String, Code>;

pub(crate) fn ask_setting(question: &mut redis::Pipeline, name: &str) {
    question.cmd("CONFIG").arg("GET").arg(name);
}

/// The text in the reply to INFO or CONFIG GET.
pub(crate) fn text(reply: &Value<'_>) -> Answer {
    let value = match reply {
        Value::List(words) => words.get(1),
        other => Some(other),
    };
    match value {
        Some(Value::Text(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Some(Value::Error(refused)) => Err(Code::of(refused)),
        _ => Err(Code::Other),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    answers: Answers,
    lag: Duration,
}

impl Facts {
    pub(crate) fn question() -> redis::Pipeline {
        let mut question = redis::pipe();
        question.cmd("INFO");
        for name in SETTINGS {
            ask_setting(&mut question, name);
        }
        question
    }

    pub(crate) async fn ask(connection: &mut Connection, lag: Duration) -> io::Result<Self> {
        connection
            .send(&Self::question().get_packed_pipeline())
            .await?;
        Self::read(connection, lag).await
    }

    /// Reads the replies to [`question`](Self::question).
    pub(crate) async fn read(connection: &mut Connection, lag: Duration) -> io::Result<Self> {
        let mut said = Vec::new();
        loop {
            said.push(text(&connection.reply().await?));
            if let Some(facts) = Self::of(&mut said, lag) {
                return Ok(facts);
            }
        }
    }

    /// Takes the answers, once all have arrived.
    pub(crate) fn of(said: &mut Vec<Answer>, lag: Duration) -> Option<Self> {
        let answers = std::mem::take(said).try_into();
        match answers {
            Ok(answers) => Some(Self { answers, lag }),
            Err(few) => {
                *said = few;
                None
            }
        }
    }

    /// Whether asking again would give the same answers: the server was not merely busy.
    pub(crate) fn are_definite(&self) -> bool {
        let answers = self.answers.iter();
        let mut refused = answers.filter_map(|answer| answer.as_ref().err());
        refused.all(|code| matches!(code, Code::NoPerm | Code::Other))
    }

    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.answers[0].as_deref().ok()?.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
    }

    fn setting(&self, name: &str) -> Option<&str> {
        let index = SETTINGS.iter().position(|known| *known == name)?;
        self.answers[1 + index].as_deref().ok()
    }

    pub(crate) fn guarantees(&self, guard: &Guard) -> Guarantees {
        let withheld = |by_right| {
            let commands = ["info"].into_iter().chain(["config|get"; SETTINGS.len()]);
            let answers = self.answers.iter().zip(commands);
            let refused = answers.filter_map(|(answer, command)| {
                let code = answer.as_ref().err()?;
                ((*code == Code::NoPerm) == by_right).then_some(command)
            });
            BTreeSet::from_iter(refused)
        };
        let mut guarantees = Guarantees::unknown();
        guarantees.restart = self.restart(guard);
        guarantees.failover = self.failover(guard);
        guarantees.eviction = self.eviction();
        guarantees.replicas = guard.options.replicas.map_or(0, |replicas| replicas.count);
        guarantees.missing_rights = withheld(true);
        guarantees.disabled_commands = withheld(false);
        guarantees
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
        if guard.options.restart_guard && data != AfterRestart::Kept {
            let time = guard.after_restart(self.lag);
            return AfterRestart::Closed { time };
        }
        data
    }

    fn failover(&self, guard: &Guard) -> AfterFailover {
        let replicas = number(self.field("connected_slaves"));
        if replicas == Some(0) {
            return AfterFailover::NoReplicas;
        }
        if guard.options.trust_failover {
            return AfterFailover::Trusted;
        }
        // The epoch script recognizes a promotion by this field: see `script/epoch.lua`.
        if self.answers[0].is_ok() && self.field("master_replid2").is_none() {
            return AfterFailover::Unnoticed;
        }
        let time = guard.after_failover(self.lag);
        match (replicas, number(self.setting("min-replicas-to-write"))) {
            (None, _) | (_, None) => AfterFailover::Unknown,
            (_, Some(0)) => AfterFailover::OldPrimaryGoesOn { time },
            (_, Some(_)) => AfterFailover::Closed { time },
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

pub(crate) fn number(text: Option<&str>) -> Option<u64> {
    text?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ErrorReply;
    use auto_mutex_seam::Weakness;

    fn found(info: &str, setting: Value<'_>) -> Guarantees {
        let mut guard = crate::fuzzing::guard();
        guard.options.restart_guard = false;
        guard.options.longest_lease = Duration::from_secs(30);
        let mut said = vec![text(&Value::Text(info.as_bytes()))];
        said.extend([(); SETTINGS.len()].map(|()| text(&setting)));
        let facts = Facts::of(&mut said, Duration::from_secs(10));
        facts.unwrap().guarantees(&guard)
    }

    /// The reply of Dragonfly to INFO (`server_family.cc`, 2025), shortened.
    const DRAGONFLY: &str = "# Server\r\nredis_version:7.4.0\r\ndragonfly_version:df-v1.34.0\r\n# Memory\r\nmaxmemory:100\r\n\
        maxmemory_policy:noeviction\r\n# Replication\r\nrole:master\r\nconnected_slaves:1\r\n\
        slave0:ip=172.19.0.3,port=6379,state=online,lag=0\r\nmaster_replid:b72c\r\n";

    #[test]
    fn a_server_that_does_not_say_when_it_was_promoted_is_known() {
        let empty = || Value::List(Vec::new());
        let found_there = found(DRAGONFLY, empty());
        assert_eq!(found_there.failover, AfterFailover::Unnoticed);
        assert!(
            found_there
                .weaknesses()
                .contains(&Weakness::FailoverUnnoticed)
        );
        let alone = DRAGONFLY.replace("connected_slaves:1", "connected_slaves:0");
        assert_eq!(found(&alone, empty()).failover, AfterFailover::NoReplicas);
        // INFO of Upstash has no replication section, and the reply to CONFIG GET is empty.
        let upstash = found("# Server\r\nredis_version:6.2.6\r\n", Value::List(vec![]));
        assert_eq!(upstash.failover, AfterFailover::Unnoticed);
        assert_eq!(upstash.disabled_commands, ["config|get"].into());
        assert!(upstash.missing_rights.is_empty());
    }

    #[test]
    fn a_disabled_command_is_told_from_a_missing_right() {
        for (text, is_right) in [
            (
                &b"NOPERM this user has no permissions to run the 'config|get' command"[..],
                true,
            ),
            (
                b"ERR unknown command 'CONFIG', with args beginning with: 'GET' 'save' ",
                false,
            ),
            (b"ERR Unsupported CONFIG parameter: save", false),
        ] {
            let found = found(DRAGONFLY, Value::Error(ErrorReply::new(text)));
            let (one, other) = match is_right {
                true => (&found.missing_rights, &found.disabled_commands),
                false => (&found.disabled_commands, &found.missing_rights),
            };
            assert_eq!(*one, ["config|get"].into(), "{text:?}");
            assert!(other.is_empty(), "{text:?}");
        }
    }
}
