//! The restart and failover guard: which term as a primary a server is in, and from when on it grants.
//!
//! The rule is `scripts/term.lua`. Here the server is asked, on every connection and now and then after that.

use std::sync::Arc;
use std::time::Duration;

use super::connect::error::{ConnectError, accept};
use super::scripts::{Script, Scripts};
use crate::clock::Instant;
use crate::config::Settings;
use crate::store::grant_block::{Cause, GrantBlock};
use crate::sync::Mutex;
use crate::wait::lock;
use crate::wire::{self, Connection, ErrorReply, Value};

/// The key in which the clients of a server note its term.
const EPOCH: &str = "auto_mutex:epoch";
/// Errors of a cluster: the key is not here, or on its way elsewhere.
const ELSEWHERE: &[&str] = &["MOVED", "ASK", "TRYAGAIN"];
/// The server's own default, where it does not say what it is.
const USUAL_LAG: Duration = Duration::from_secs(10);

/// An old primary goes on for so much longer than its lag: it counts its replicas every second, and their silence in whole seconds.
const SLACK: Duration = Duration::from_secs(2);

/// What a client asks of a server that was restarted or promoted.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) keys: TermKeys,
    /// Whether a restart closes the server.
    pub(crate) restart: bool,
    /// Whether the server may have been promoted a moment before a restart.
    pub(crate) replicated: bool,
    /// Whether a failover closes the server: always, but for the tests that show what that is good for.
    pub(crate) failover: bool,
    /// No client has a longer lease.
    pub(crate) longest_lease: Duration,
}

/// The epoch key of a server, and what the client knows of its term. In a cluster the key is in a slot that the node owns, which
/// may be another one tomorrow; and if that slot is on its way elsewhere, the next key is used.
#[derive(Clone, Debug)]
pub(crate) struct TermKeys(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    keys: Vec<String>,
    /// A question named no key, and others may have noted more.
    unnamed: bool,
    /// What the last answer said, for the next key, which may know nothing: the term, since when (µs), the longest lease.
    term: String,
    since: u64,
    lease_ms: u64,
}

impl TermKeys {
    /// The first key is used that can be.
    pub(crate) fn new(keys: Vec<String>) -> Self {
        Self(Arc::new(Mutex::new(Notes {
            keys,
            ..Notes::default()
        })))
    }

    /// The key by which the clients of a server agree who loads the scripts, if there is one.
    pub(super) fn of_loading(&self) -> Option<String> {
        let key = lock(&self.0).keys.first().cloned()?;
        Some(key + ":loading")
    }

    /// Replaces the keys.
    pub(crate) fn set(&self, keys: Vec<String>) {
        lock(&self.0).keys = keys;
    }

    /// The connection that grants asks with the keys that there are by now. (Others beside it may have asked before.)
    pub(super) fn asked_again(&self) {
        let mut notes = lock(&self.0);
        notes.unnamed = notes.keys.is_empty();
    }

    /// There is a key by now, and there was none when the server was asked.
    pub(super) fn are_new(&self) -> bool {
        let notes = lock(&self.0);
        notes.unnamed && !notes.keys.is_empty()
    }
}

impl Guard {
    /// As the settings say, with the key of a server that stands alone.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            keys: TermKeys::new(vec![EPOCH.to_owned()]),
            restart: settings.restart_guard,
            replicated: true,
            failover: settings.failover_guard,
            longest_lease: settings.longest_lease,
        }
    }

    /// For one of several servers that know nothing of each other.
    pub(crate) fn unreplicated(self) -> Self {
        Self {
            replicated: false,
            ..self
        }
    }

    /// For how long a restarted server grants nothing, unless another client asks for more.
    pub(super) fn after_restart(&self, lag: Duration) -> Duration {
        match self.replicated {
            true => self.after_failover(lag),
            false => self.longest_lease + Duration::from_secs(1),
        }
    }

    /// For how long a promoted server grants nothing, unless another client asks for more.
    pub(super) fn after_failover(&self, lag: Duration) -> Duration {
        // The lag is the server's word: it may be any number.
        let goes_on = lag.saturating_add(SLACK);
        self.longest_lease.saturating_add(goes_on)
    }
}

/// What a connection knows of the term of its server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Term {
    /// How long a primary goes on that has lost its replicas.
    pub(super) lag: Duration,
    /// From when on the server grants, by its own clock (µs); 0: it does.
    pub(super) opens_at: u64,
    /// The same by our clock: certainly over by then, however it drifts.
    pub(super) closing: Option<GrantBlock>,
}

impl Term {
    /// Asks on a new connection.
    pub(super) async fn ask(
        connection: &mut Connection,
        scripts: &Scripts,
        guard: &Guard,
        lag: Duration,
    ) -> Result<Self, ConnectError> {
        let mut error = ConnectError::nonsense();
        for key in 0.. {
            let mut question = Vec::new();
            if !ask(&mut question, scripts, guard, key, lag) {
                break;
            }
            connection.send(&question).await?;
            let reply = connection.reply().await?;
            let elsewhere = matches!(&reply, Value::Error(error) if is_elsewhere(error));
            match accept(reply) {
                Err(found) if elsewhere => error = found,
                reply => {
                    let term = Self::read(&reply?, guard, lag, Instant::now());
                    return term.ok_or_else(ConnectError::nonsense);
                }
            }
        }
        Err(error)
    }

    /// The answer to [`ask`]; `None`: it makes no sense.
    pub(super) fn read(
        reply: &Value<'_>,
        guard: &Guard,
        lag: Duration,
        now: Instant,
    ) -> Option<Self> {
        let Value::List(words) = reply else {
            return None;
        };
        let [opens_at, left, cause, term, since, lease_ms] = words.as_slice() else {
            return None;
        };
        let opens_at = opens_at.as_number()?;
        let left = Duration::from_micros(left.as_number()?);
        let cause = match cause.as_text()? {
            "restart" => Cause::Restart,
            "failover" => Cause::Failover,
            _ => return None,
        };
        let (term, since) = (term.as_text()?.to_owned(), since.as_number()?);
        let lease_ms = lease_ms.as_number()?;
        let mut notes = lock(&guard.keys.0);
        (notes.term, notes.since, notes.lease_ms) = (term, since, lease_ms);
        let drift = left / 100 + Duration::from_millis(2);
        let until = now.after(left).after(drift);
        Some(Self {
            lag,
            opens_at,
            closing: (opens_at > 0).then_some(GrantBlock { until, cause }),
        })
    }

    /// The time before which the server grants nothing, by its own clock; 0 once it is over.
    pub(super) fn opens(&mut self) -> u64 {
        self.closing
            .take_if(|closing| closing.until <= Instant::now());
        self.closing.map_or(0, |_| self.opens_at)
    }
}

/// Appends the question for the configured lag.
pub(super) fn ask_lag(out: &mut Vec<u8>) {
    wire::command(out, |words| {
        words.texts(&["CONFIG", "GET", "min-replicas-max-lag"]);
    });
}

/// The answer to [`ask_lag`]; users who may not ask get the server's default.
pub(super) fn lag(reply: &Value<'_>) -> Duration {
    let value = match reply {
        Value::Map(pairs) => pairs.first().map(|pair| &pair.1),
        Value::List(words) => words.get(1),
        _ => None,
    };
    let seconds = value.and_then(Value::as_text);
    let seconds = seconds.and_then(|digits| digits.parse().ok());
    seconds.map_or(USUAL_LAG, Duration::from_secs)
}

/// Appends the question from when on the server grants, by one of the keys; `false`: there are not so many.
pub(super) fn ask(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    guard: &Guard,
    index: usize,
    lag: Duration,
) -> bool {
    let millis = |duration: Duration| duration.as_millis().min(1 << 42) as u64;
    let mut notes = lock(&guard.keys.0);
    let key = notes.keys.get(index).cloned();
    match (index, &key) {
        // A node that is not known to serve a slot has no key, and is asked without: it may have been promoted a moment ago.
        (0, _) => notes.unnamed |= key.is_none(),
        (_, None) => return false,
        (_, Some(_)) => {}
    }
    wire::command(out, |words| {
        words.texts(&["EVALSHA", scripts.digest(Script::Term)]);
        match &key {
            Some(key) => words.texts(&["1", key]),
            None => words.text("0"),
        }
        words.number(millis(guard.longest_lease).max(notes.lease_ms));
        words.number(millis(lag.saturating_add(SLACK)));
        words.number(match (guard.restart, guard.replicated) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        });
        words.number(u64::from(guard.failover));
        words.text(&notes.term);
        words.number(notes.since);
    });
    true
}

/// Whether another key may say more after this error.
pub(super) fn is_elsewhere(error: &ErrorReply<'_>) -> bool {
    ELSEWHERE.contains(&&*error.code)
}
