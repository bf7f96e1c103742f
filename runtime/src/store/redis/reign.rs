//! The restart and failover guard: which life as a primary a server is in, and from when on it grants.
//!
//! The rule is `scripts/reign.lua`. Here it is asked, on every connection and now and then after that.

use std::sync::Arc;
use std::time::Duration;

use super::refusal::Refusal;
use super::scripts::{Script, Scripts};
use super::wire::{self, Connection, ErrorReply, Value};
use crate::clock::Instant;
use crate::config::Settings;
use crate::store::closing::{Cause, Closing};
use crate::sync::Mutex;
use crate::wait::lock;

/// The key in which the clients of a server note its reign.
const EPOCH: &str = "auto_mutex:epoch";
/// The key is not here, or on its way elsewhere.
const ELSEWHERE: &[&str] = &["MOVED", "ASK", "TRYAGAIN"];
/// The server's own default, where it does not say what it is.
pub(super) const USUAL_LAG: Duration = Duration::from_secs(10);

/// What a client asks of a server that was restarted or promoted.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    pub(crate) keys: EpochKeys,
    /// Whether a restart closes the server.
    pub(crate) restart: bool,
    /// Whether it may have been promoted a moment before a restart.
    pub(crate) replicated: bool,
    /// Whether a failover does: always, but where it is shown what that is good for.
    pub(crate) failover: bool,
    /// No client has a longer lease.
    pub(crate) longest_lease: Duration,
}

/// The epoch key: one for each server. In a cluster it is in a slot that the server owns, which may be another one
/// tomorrow; and if that is on its way elsewhere just now, the next one will do.
#[derive(Clone, Debug)]
pub(crate) struct EpochKeys(Arc<Mutex<Notes>>);

#[derive(Debug)]
struct Notes {
    keys: Vec<String>,
    /// A question named none, and others may have noted more.
    unnamed: bool,
    /// What one of them said last: for the next one, if it says nothing.
    known: Known,
}

/// What is noted of a reign.
#[derive(Clone, Debug, Default)]
struct Known {
    reign: String,
    since: u64,
    lease_ms: u64,
}

impl EpochKeys {
    /// The first one is used that can be.
    pub(crate) fn new(keys: Vec<String>) -> Self {
        Self(Arc::new(Mutex::new(Notes {
            keys,
            unnamed: false,
            known: Known::default(),
        })))
    }

    /// The key by which the clients of a server agree who loads the scripts, where there is one.
    pub(super) fn of_loading(&self) -> Option<String> {
        let key = lock(&self.0).keys.first().cloned()?;
        Some(key + ":loading")
    }

    /// From now on it is one of these.
    pub(crate) fn set(&self, keys: Vec<String>) {
        lock(&self.0).keys = keys;
    }

    /// What to name in the `index`th question; `None`: there are not so many.
    ///
    /// A node that is not known to serve a slot has no key, and is asked without: it may be a replica that was promoted
    /// a moment ago.
    fn get(&self, index: usize) -> Option<Option<String>> {
        let mut notes = lock(&self.0);
        let key = notes.keys.get(index).cloned();
        if index == 0 {
            notes.unnamed |= key.is_none();
            return Some(key);
        }
        key.map(Some)
    }

    /// The connection that grants asks with what there is by now. (Others beside it may have asked before.)
    pub(super) fn asked_again(&self) {
        let mut notes = lock(&self.0);
        notes.unnamed = notes.keys.is_empty();
    }

    /// There is one by now, and there was none when the server was asked.
    pub(super) fn are_new(&self) -> bool {
        let notes = lock(&self.0);
        notes.unnamed && !notes.keys.is_empty()
    }
}

impl Guard {
    /// As the settings say, with the key of a server that stands alone.
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            keys: EpochKeys::new(vec![EPOCH.to_owned()]),
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

    /// For how long a restarted server grants nothing, unless another client has said more.
    pub(super) fn after_restart(&self, lag: Duration) -> Duration {
        match self.replicated {
            true => self.after_failover(lag),
            false => self.longest_lease + Duration::from_secs(1),
        }
    }

    /// For how long a promoted server grants nothing, unless another client has said more.
    pub(super) fn after_failover(&self, lag: Duration) -> Duration {
        // The server may say anything of its lag.
        let apart = lag.saturating_add(Duration::from_secs(2));
        self.longest_lease.saturating_add(apart)
    }
}

/// From when on a server grants.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// By the server's clock (µs).
    pub(super) at: u64,
    /// By ours: certainly over by then, however it drifts.
    pub(super) closing: Closing,
}

/// What a connection knows of the reign of its server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reign {
    /// How long a primary goes on that has lost its replicas.
    pub(super) lag: Duration,
    /// `None`: it is open.
    pub(super) opening: Option<Opening>,
}

impl Opening {
    /// `left`: from `now` on.
    fn new(at: u64, left: Duration, cause: Cause, now: Instant) -> Self {
        let drift = left / 100 + Duration::from_millis(2);
        let until = now.after(left).after(drift);
        Self {
            at,
            closing: Closing { until, cause },
        }
    }
}

impl Reign {
    /// The time before which the server grants nothing, by its own clock; 0 once it is over.
    pub(super) fn opens(&mut self) -> u64 {
        self.opening
            .take_if(|opening| opening.closing.until <= Instant::now());
        self.opening.map_or(0, |opening| opening.at)
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
    let seconds = match value {
        Some(Value::Text(digits)) => std::str::from_utf8(digits).ok(),
        _ => None,
    };
    let seconds = seconds.and_then(|digits| digits.parse().ok());
    seconds.map_or(USUAL_LAG, Duration::from_secs)
}

/// Appends the question from when on the server grants, by one of the keys; `false`: there are not so many.
pub(super) fn ask(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    guard: &Guard,
    key: usize,
    lag: Duration,
) -> bool {
    let millis = |duration: Duration| duration.as_millis().min(1 << 42) as u64;
    let Some(key) = guard.keys.get(key) else {
        return false;
    };
    let known = lock(&guard.keys.0).known.clone();
    wire::command(out, |words| {
        words.texts(&["EVALSHA", scripts.digest(Script::Reign)]);
        match &key {
            Some(key) => words.texts(&["1", key]),
            None => words.text("0"),
        }
        words.number(millis(guard.longest_lease).max(known.lease_ms));
        words.number(millis(lag));
        words.number(match (guard.restart, guard.replicated) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 2,
        });
        words.number(u64::from(guard.failover));
        words.text(&known.reign);
        words.number(known.since);
    });
    true
}

/// Whether another key may say more after this error.
pub(super) fn is_elsewhere(error: &ErrorReply<'_>) -> bool {
    ELSEWHERE.contains(&&*error.code)
}

/// The answer to [`ask`]; the outer `None`: it makes no sense.
pub(super) fn opening(reply: &Value<'_>, guard: &Guard, now: Instant) -> Option<Option<Opening>> {
    let Value::List(words) = reply else {
        return None;
    };
    let [at, left, cause, reign, since, lease] = words.as_slice() else {
        return None;
    };
    let number = |value: &Value<'_>| match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    let (at, left) = (number(at)?, number(left)?);
    let cause = match *cause {
        Value::Text(b"restart") => Cause::Restart,
        Value::Text(b"failover") => Cause::Failover,
        _ => return None,
    };
    let Value::Text(reign) = reign else {
        return None;
    };
    lock(&guard.keys.0).known = Known {
        reign: std::str::from_utf8(reign).ok()?.to_owned(),
        since: number(since)?,
        lease_ms: number(lease)?,
    };
    let left = Duration::from_micros(left);
    Some((at > 0).then(|| Opening::new(at, left, cause, now)))
}

/// Asks on a new connection.
pub(super) async fn check(
    connection: &mut Connection,
    scripts: &Scripts,
    guard: &Guard,
    lag: Duration,
) -> Result<Reign, Refusal> {
    let lost = |error| Refusal::of_socket(&error);
    let mut refusal = Refusal::nonsense();
    for key in 0.. {
        let mut question = Vec::new();
        if !ask(&mut question, scripts, guard, key, lag) {
            break;
        }
        connection.send(&question).await.map_err(lost)?;
        let reply = connection.reply().await.map_err(lost)?;
        if let Value::Error(error) = &reply {
            refusal = Refusal::of(super::error::of_server(error));
            if is_elsewhere(error) {
                continue;
            }
            return Err(refusal);
        }
        let opening = opening(&reply, guard, Instant::now()).ok_or_else(Refusal::nonsense)?;
        return Ok(Reign { lag, opening });
    }
    Err(refusal)
}
