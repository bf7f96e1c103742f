//! The restart and failover guard: from when on a server grants. `script/epoch.lua` has the rule.

use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_seam::store::{Cause, Closed, Instant, StoreOptions, clock, lock, millis};

use crate::connect::facts;
use crate::error::Code;
use crate::login::error::{ConnectError, accept, nonsense};
use crate::script::Scripts;
use crate::wire::{Connection, Value};

pub(crate) const EPOCH: &str = "auto_mutex:epoch";
pub(super) const LAG: &str = "min-replicas-max-lag";
/// The default of [`LAG`], for a server that does not report its setting.
const USUAL_LAG: Duration = Duration::from_secs(10);

/// An old primary accepts writes for longer than its lag, because it checks its replicas once a second, in whole
/// seconds.
const SLACK: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) keys: Mutex<EpochKeys>,
    pub(crate) options: StoreOptions,
}

/// The epoch keys of a server, and its last reply. In a cluster, the slot of a key may move away. Then the next key is
/// used.
#[derive(Debug, Default)]
pub(crate) struct EpochKeys {
    pub(crate) keys: Vec<String>,
    /// Whether the server was asked without a key, so that its reply ignored what other clients have reported.
    unnamed: bool,
    /// From the last reply: epoch, since, lease_ms and turn (see `script/epoch.lua`). Passed on with the next key,
    /// which may not exist.
    pub(crate) reported: (String, u64, u64, u64),
}

impl EpochKeys {
    pub(crate) fn new(keys: Vec<String>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    pub(crate) fn of_loading(&self) -> Option<String> {
        self.keys.first().map(|key| format!("{key}:loading"))
    }

    /// The last reported epoch of the server, which changes with a restart or a promotion.
    pub(crate) fn epoch(&self) -> &str {
        &self.reported.0
    }

    /// The server's process and its epoch key, if both are known.
    pub(crate) fn of_process(&self) -> (String, Option<String>) {
        let process = self.epoch().split(':').next().unwrap_or_default();
        let key = self.keys.first().filter(|_| !process.is_empty());
        (process.to_owned(), key.cloned())
    }

    /// Records that the main connection asks again with the current keys. Queries of other connections do not count.
    pub(crate) fn asked_again(&mut self) {
        self.unnamed = self.keys.is_empty();
    }

    pub(crate) fn are_new(&self) -> bool {
        self.unnamed && !self.keys.is_empty()
    }
}

impl Guard {
    pub(crate) fn new(keys: Vec<String>, options: StoreOptions) -> Self {
        Self {
            keys: Mutex::new(EpochKeys::new(keys)),
            options,
        }
    }

    /// Makes the guard from the options, with the key for a server that is not a node of a cluster.
    pub(crate) fn of(options: &StoreOptions) -> Self {
        Self::new(vec![EPOCH.to_owned()], *options)
    }

    /// Reads what others have reported, but reports nothing.
    pub(crate) fn reading(&self) -> Self {
        let keys = lock(&self.keys).keys.clone();
        let options = StoreOptions {
            longest_lease: Duration::ZERO,
            restart_guard: false,
            ..self.options
        };
        Self::new(keys, options)
    }

    pub(crate) fn after_restart(&self, lag: Duration) -> Duration {
        match self.options.is_voter {
            true => self.options.longest_lease + Duration::from_secs(1),
            // The server may have been promoted a moment before the restart.
            false => self.after_failover(lag),
        }
    }

    pub(crate) fn after_failover(&self, lag: Duration) -> Duration {
        // Saturates, because the server may report any number as its lag.
        let goes_on = lag.saturating_add(SLACK);
        self.options.longest_lease.saturating_add(goes_on)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Epoch {
    /// How long a primary keeps accepting writes after it has lost its replicas.
    pub(crate) lag: Duration,
    /// From when on the server grants, by its own clock (µs); 0 if it grants now.
    pub(crate) opens_at: u64,
    /// The same time by the local clock, with a margin for clock drift.
    pub(crate) closed: Option<Closed>,
}

impl Epoch {
    pub(crate) async fn ask(
        connection: &mut Connection,
        scripts: &Scripts,
        guard: &Guard,
        lag: Duration,
    ) -> Result<Self, ConnectError> {
        let mut error = nonsense();
        for key in 0.. {
            let mut question = Vec::new();
            if !ask(&mut question, scripts, guard, key, lag) {
                break;
            }
            connection.send(&question).await?;
            let reply = connection.reply().await?;
            let elsewhere = matches!(&reply, Value::Error(error) if Code::of(error).is_elsewhere());
            match accept(reply) {
                Err(found) if elsewhere => error = found,
                reply => {
                    let epoch = Self::read(&reply?, guard, lag, clock::now());
                    return epoch.ok_or_else(nonsense);
                }
            }
        }
        Err(error)
    }

    pub(crate) fn read(
        reply: &Value<'_>,
        guard: &Guard,
        lag: Duration,
        now: Instant,
    ) -> Option<Self> {
        let [opens_at, left, cause, epoch, since, lease_ms, turn] = reply.as_list()? else {
            return None;
        };
        let opens_at = opens_at.as_number()?;
        let left = Duration::from_micros(left.as_number()?);
        let cause = match cause.as_text()? {
            "restart" => Cause::Restart,
            "failover" => Cause::Failover,
            _ => return None,
        };
        let (epoch, since) = (epoch.as_text()?.to_owned(), since.as_number()?);
        let (lease_ms, turn) = (lease_ms.as_number()?, turn.as_number()?);
        lock(&guard.keys).reported = (epoch, since, lease_ms, turn);
        let until = now.surely_after(left);
        Some(Self {
            lag,
            opens_at,
            closed: (opens_at > 0).then_some(Closed { until, cause }),
        })
    }

    pub(crate) fn opens(&mut self) -> u64 {
        self.closed.take_if(|closed| closed.until <= clock::now());
        self.closed.map_or(0, |_| self.opens_at)
    }
}

pub(crate) fn lag(reply: &Value<'_>) -> Duration {
    let seconds = facts::text(reply)
        .ok()
        .and_then(|digits| digits.parse().ok());
    seconds.map_or(USUAL_LAG, Duration::from_secs)
}

/// Returns `false` if there are fewer keys.
pub(crate) fn ask(
    out: &mut Vec<u8>,
    scripts: &Scripts,
    guard: &Guard,
    index: usize,
    lag: Duration,
) -> bool {
    let mut keys = lock(&guard.keys);
    let key = keys.keys.get(index).cloned();
    match (index, &key) {
        // A node without known slots is asked without a key, because it may have just been promoted.
        (0, _) => keys.unnamed |= key.is_none(),
        (_, None) => return false,
        (_, Some(_)) => {}
    }
    let options = &guard.options;
    let restart = match (options.restart_guard, options.is_voter) {
        (false, _) => 0,
        (true, true) => 1,
        (true, false) => 2,
    };
    let [_, digest] = scripts.digests();
    let mut evaluate = redis::cmd("EVALSHA");
    evaluate.arg(digest);
    evaluate.arg(usize::from(key.is_some())).arg(&key);
    evaluate.arg(millis(options.longest_lease));
    evaluate.arg(millis(lag.saturating_add(SLACK)));
    evaluate.arg(restart).arg(u8::from(options.trust_failover));
    evaluate.arg(&keys.reported);
    evaluate.write_packed_command(out);
    true
}
