//! [`Settings`]: a checked configuration.

use std::borrow::Cow;
use std::time::Duration;

use super::duration::{FOREVER, SHORTEST_EXPIRE, Span};
use super::endpoint::Endpoint;
use super::unit;
use super::{Config, Deadlock};
use crate::error::SetupError;
use crate::observe::SharedObserver;
use crate::store::limits::{LONGEST_LEASE, TOKENS_OF_A_GRANT};

const SHORTEST_LEASE: Duration = Duration::from_millis(100);
const DEFAULT_LEASE: Duration = Duration::from_secs(10);
const DEFAULT_EXPIRE: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_SLOW: Duration = Duration::from_secs(30);
const DEFAULT_DEADLOCK_AFTER: Duration = Duration::from_secs(1);
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest time of most options: the resolution of the store's clock.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST_NAMESPACE: usize = 256;

/// A checked [`Config`].
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) endpoint: Endpoint,
    pub(crate) namespace: Option<String>,
    /// How long the store keeps a lock, or a place in a queue, without a renewal.
    pub(crate) lease: Duration,
    /// How long a holder may hold at most; `None`: for ever.
    pub(crate) expire: Option<Duration>,
    /// How long to wait for a lock; `None`: without a limit.
    pub(crate) block: Option<Duration>,
    /// How long a wait or a hold may last before a warning; `None`: no warnings.
    pub(crate) slow: Option<Duration>,
    /// What to do about deadlocks.
    pub(crate) deadlock: Deadlock,
    /// How long a wait lasts before a search for a deadlock.
    pub(crate) deadlock_after: Duration,
    /// How long a call tolerates an unresponsive store.
    pub(crate) store_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) handover: LocalHandoff,
    /// Whether a restarted server grants nothing for a while.
    pub(crate) restart_guard: bool,
    /// Whether a promoted replica grants nothing for a while.
    pub(crate) failover_guard: bool,
    /// The longest lease of any client of the store.
    pub(crate) longest_lease: Duration,
    /// How many replicas must have a grant.
    pub(crate) replicas: Option<Replicas>,
    /// Whether set-up returns before the store is connected.
    pub(crate) lazily: bool,
    pub(crate) reentrant: bool,
    /// The observer that gets the metrics.
    pub(crate) observer: Option<SharedObserver>,
    /// The pairs of lock classes whose order the program allows.
    pub(crate) allowed_orders: Vec<(String, String)>,
}

/// How many replicas must have a grant, and within which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replicas {
    pub(crate) count: u32,
    pub(crate) timeout: Duration,
}

/// The limits of local handoffs, so that other processes also get the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalHandoff {
    /// The most handoffs in a row; zero: no handoffs.
    pub(crate) times: u32,
    /// The longest time after the store's grant.
    pub(crate) time: Duration,
}

impl LocalHandoff {
    pub(super) const DEFAULT: Self = Self {
        times: 100,
        time: Duration::from_millis(5),
    };
}

impl Settings {
    /// The settings for a client that never holds a lock. This client connects at once. It does not lengthen the time for
    /// which servers grant nothing after a restart or failover.
    pub(crate) fn without_holds(&self) -> Self {
        Self {
            lease: SHORTEST_LEASE,
            longest_lease: SHORTEST_LEASE,
            restart_guard: false,
            replicas: None,
            lazily: false,
            reentrant: true,
            ..self.clone()
        }
    }
}

impl Config {
    /// Checks all options.
    pub(crate) fn validate(mut self) -> Result<Settings, SetupError> {
        if let Some(dialer) = &self.dialer {
            if !self.endpoint.has_tcp() {
                return Err(invalid("dialer", "no server of the URL is reached by TCP"));
            }
            self.endpoint.set_dialer(dialer);
        }
        let longest_lease = longest_lease(self.longest_lease)?;
        let lease = lease(self.lease, longest_lease)?;
        check_namespace(self.namespace.as_deref())?;
        let expire = expire(self.expire)?;
        let several = !matches!(self.endpoint, Endpoint::Memory { .. } | Endpoint::Redis(_));
        let replicas = replicas(self.replicas, &self.endpoint, lease)?;
        let mut endpoint = self.endpoint;
        if let Some(provider) = self.credentials {
            let both = "the URL has a user or a password, too: leave that to the provider";
            endpoint
                .ask(provider)
                .map_err(|()| invalid("credentials", both))?;
        }
        Ok(Settings {
            restart_guard: self.restart_guard.unwrap_or(several),
            failover_guard: self.failover_guard,
            longest_lease,
            endpoint,
            namespace: self.namespace,
            lease,
            expire,
            block: take("block", self.block)?,
            slow: slow(self.slow)?,
            deadlock: self.deadlock,
            deadlock_after: at_least_a_millisecond("deadlock_after", self.deadlock_after)?
                .unwrap_or(DEFAULT_DEADLOCK_AFTER),
            store_timeout: at_least_a_millisecond("store_timeout", self.store_timeout)?
                .unwrap_or(lease),
            handover: handover(self.handover)?,
            replicas,
            lazily: self.lazily,
            reentrant: self.reentrant,
            observer: self.observer,
            allowed_orders: self.allowed_orders,
            connect_timeout: at_least_a_millisecond("connect_timeout", self.connect_timeout)?
                .unwrap_or(DEFAULT_CONNECT_TIMEOUT),
        })
    }
}

fn longest_lease(given: Option<Span>) -> Result<Duration, SetupError> {
    let longest = take("longest_lease", given)?.unwrap_or(LONGEST_LEASE);
    if longest > LONGEST_LEASE {
        return Err(too_long("longest_lease", longest, ""));
    }
    if longest < SHORTEST_LEASE {
        return Err(too_short("longest_lease", longest));
    }
    Ok(longest)
}

fn lease(given: Option<Span>, longest: Duration) -> Result<Duration, SetupError> {
    let lease = take("lease", given)?.unwrap_or(DEFAULT_LEASE.min(longest));
    Err(match lease {
        _ if lease < SHORTEST_LEASE => too_short("lease", lease),
        _ if lease > LONGEST_LEASE => {
            let why = "; it is renewed in the background, `expire` is what bounds a holder";
            too_long("lease", lease, why)
        }
        _ if lease > longest => invalid("lease", "it is longer than `longest_lease`"),
        _ => return Ok(lease),
    })
}

fn too_short(option: &'static str, lease: Duration) -> SetupError {
    let words = unit::in_words(lease.as_secs_f64());
    invalid(option, format!("{words} is shorter than 100 ms"))
}

/// The error for a lease that is too long. It asks about milliseconds if the number would then be a valid lease.
fn too_long(option: &'static str, lease: Duration, why: &str) -> SetupError {
    let seconds = lease.as_secs_f64();
    let in_millis = lease / 1000;
    let doubt = match (SHORTEST_LEASE..=LONGEST_LEASE).contains(&in_millis) {
        true => unit::doubt(seconds),
        false => format!("{} is too long.", unit::in_words(seconds)),
    };
    invalid(option, format!("{doubt} The longest is 30 s{why}"))
}

/// Returns `None` if a lock may be held for ever.
fn expire(given: Option<Span>) -> Result<Option<Duration>, SetupError> {
    match take("expire", given)?.unwrap_or(DEFAULT_EXPIRE) {
        FOREVER => Ok(None),
        expire if expire < SHORTEST_EXPIRE => Err(invalid("expire", "it is shorter than 10 ms")),
        expire => Ok(Some(expire)),
    }
}

fn slow(given: Option<Span>) -> Result<Option<Duration>, SetupError> {
    let slow = take("slow", given)?.unwrap_or(DEFAULT_SLOW);
    match slow {
        Duration::ZERO => Ok(None),
        _ if slow < SHORTEST => Err(invalid(
            "slow",
            "it is shorter than 1 ms; 0 turns the warning off",
        )),
        _ => Ok(Some(slow)),
    }
}

fn check_namespace(namespace: Option<&str>) -> Result<(), SetupError> {
    match namespace {
        Some("") => Err(invalid("namespace", "it is empty")),
        Some(namespace) if namespace.len() > LONGEST_NAMESPACE => {
            Err(invalid("namespace", "it is longer than 256 bytes"))
        }
        _ => Ok(()),
    }
}

/// The grant itself uses the first of its fencing tokens, and each handoff uses one more.
const MOST_HANDOVERS: u32 = TOKENS_OF_A_GRANT as u32 - 1;

fn handover(given: Option<(u32, Span)>) -> Result<LocalHandoff, SetupError> {
    let Some((times, time)) = given else {
        return Ok(LocalHandoff::DEFAULT);
    };
    if times > MOST_HANDOVERS {
        return Err(invalid("local_handover", "more than 1023 times"));
    }
    let time = time.map_err(|reason| invalid("local_handover", reason))?;
    Ok(LocalHandoff { times, time })
}

fn replicas(
    given: Option<(u32, Span)>,
    endpoint: &Endpoint,
    lease: Duration,
) -> Result<Option<Replicas>, SetupError> {
    let Some((count, timeout)) = given else {
        return Ok(None);
    };
    let timeout = timeout.map_err(|reason| invalid("replicas", reason))?;
    let reason = match endpoint {
        _ if count == 0 => return Ok(None),
        Endpoint::Memory { .. } => "a store in this process has none",
        Endpoint::Quorum(_) => "the servers of a quorum are independent: use more of them",
        _ if timeout < SHORTEST => "the timeout is shorter than 1 ms",
        _ if timeout >= lease => {
            "the timeout is not shorter than the lease: no grant would be left"
        }
        _ => return Ok(Some(Replicas { count, timeout })),
    };
    Err(invalid("replicas", reason))
}

fn take(option: &'static str, given: Option<Span>) -> Result<Option<Duration>, SetupError> {
    given.transpose().map_err(|reason| invalid(option, reason))
}

fn at_least_a_millisecond(
    option: &'static str,
    given: Option<Span>,
) -> Result<Option<Duration>, SetupError> {
    match take(option, given)? {
        Some(Duration::ZERO) => Err(invalid(option, "it is zero")),
        Some(duration) if duration < SHORTEST => Err(invalid(option, "it is shorter than 1 ms")),
        duration => Ok(duration),
    }
}

fn invalid(option: &'static str, reason: impl Into<Cow<'static, str>>) -> SetupError {
    let reason = reason.into();
    SetupError::InvalidOption { option, reason }
}
