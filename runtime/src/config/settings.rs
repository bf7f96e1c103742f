//! [`Settings`]: a configuration that can only hold values that work.

use std::time::Duration;

use super::Config;
use super::endpoint::Endpoint;
use crate::error::SetupError;

/// Below this, what is left of a grant when it arrives can hardly be shown to be valid.
pub(crate) const SHORTEST_EXPIRE: Duration = Duration::from_millis(10);
const SHORTEST_LEASE: Duration = Duration::from_millis(100);
/// After a failover nothing is granted for as long as a lease can last, so it is bounded.
pub(crate) const LONGEST_LEASE: Duration = Duration::from_secs(30);
const DEFAULT_LEASE: Duration = Duration::from_secs(10);
const DEFAULT_EXPIRE: Duration = Duration::from_secs(24 * 60 * 60);
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The store counts in milliseconds.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST_NAMESPACE: usize = 256;

/// A checked [`Config`].
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) endpoint: Endpoint,
    pub(crate) namespace: Option<String>,
    /// How long the store keeps a ticket without hearing from its member.
    pub(crate) lease: Duration,
    /// How long a holder may hold at most; `None`: for ever.
    pub(crate) expire: Option<Duration>,
    /// How long to wait for a lock; `None`: as long as it takes.
    pub(crate) block: Option<Duration>,
    /// How long a call puts up with a store that does not answer.
    pub(crate) patience: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) handover: Handover,
    /// Whether a server that was restarted grants nothing for a while.
    pub(crate) restart_guard: bool,
    /// Whether a replica that became the primary does.
    pub(crate) failover_guard: bool,
    /// No client of the store has a longer lease.
    pub(crate) longest_lease: Duration,
    /// Which replicas must have a grant.
    pub(crate) replicas: Option<Replicas>,
}

/// How many replicas must have a grant, and how soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replicas {
    pub(crate) count: u32,
    pub(crate) timeout: Duration,
}

/// How much a process may hand on before other processes have their turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handover {
    /// How often; zero: not at all.
    pub(crate) times: u32,
    /// For how long after the store's grant.
    pub(crate) time: Duration,
}

impl Handover {
    pub(super) const DEFAULT: Self = Self {
        times: 100,
        time: Duration::from_millis(5),
    };
}

impl Settings {
    pub(super) fn check(config: Config) -> Result<Self, SetupError> {
        let longest_lease = take("longest_lease", config.longest_lease)?.unwrap_or(LONGEST_LEASE);
        if longest_lease > LONGEST_LEASE {
            return Err(invalid("longest_lease", "it is longer than 30 s"));
        }
        if longest_lease < SHORTEST_LEASE {
            return Err(invalid("longest_lease", "it is shorter than 100 ms"));
        }
        let lease = take("lease", config.lease)?;
        let lease = lease.unwrap_or(DEFAULT_LEASE.min(longest_lease));
        if lease < SHORTEST_LEASE {
            return Err(invalid("lease", "it is shorter than 100 ms"));
        }
        if lease > LONGEST_LEASE {
            return Err(invalid(
                "lease",
                "it is longer than 30 s; it is renewed in the background, `expire` is what bounds a holder",
            ));
        }
        if lease > longest_lease {
            return Err(invalid("lease", "it is longer than `longest_lease`"));
        }
        let expire = match config.never_expire {
            true => None,
            false => match take("expire", config.expire)? {
                Some(expire) if expire < SHORTEST_EXPIRE => {
                    return Err(invalid("expire", "it is shorter than 10 ms"));
                }
                expire => Some(expire.unwrap_or(DEFAULT_EXPIRE)),
            },
        };
        let namespace = config.namespace;
        if let Some(namespace) = &namespace {
            if namespace.is_empty() {
                return Err(invalid("namespace", "it is empty"));
            }
            if namespace.len() > LONGEST_NAMESPACE {
                return Err(invalid("namespace", "it is longer than 256 bytes"));
            }
        }
        let several = !matches!(
            config.endpoint,
            Endpoint::Memory { .. } | Endpoint::Redis(_)
        );
        let replicas = replicas(config.replicas, &config.endpoint, lease)?;
        Ok(Self {
            restart_guard: config.restart_guard.unwrap_or(several),
            failover_guard: config.failover_guard,
            longest_lease,
            endpoint: config.endpoint,
            namespace,
            lease,
            expire,
            block: take("block", config.block)?,
            patience: at_least_a_millisecond("patience", config.patience)?.unwrap_or(lease),
            handover: handover(config.handover)?,
            replicas,
            connect_timeout: at_least_a_millisecond("connect_timeout", config.connect_timeout)?
                .unwrap_or(DEFAULT_CONNECT_TIMEOUT),
        })
    }
}

/// A fencing token has room for so many.
const MOST_HANDOVERS: u32 = 1023;

fn handover(given: Option<(u32, Result<Duration, &'static str>)>) -> Result<Handover, SetupError> {
    let Some((times, time)) = given else {
        return Ok(Handover::DEFAULT);
    };
    if times > MOST_HANDOVERS {
        return Err(invalid("local_handover", "more than 1023 times"));
    }
    let time = time.map_err(|reason| invalid("local_handover", reason))?;
    Ok(Handover { times, time })
}

fn replicas(
    given: Option<(u32, Result<Duration, &'static str>)>,
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

type Given = Option<Result<Duration, &'static str>>;

fn take(option: &'static str, given: Given) -> Result<Option<Duration>, SetupError> {
    given.transpose().map_err(|reason| invalid(option, reason))
}

fn at_least_a_millisecond(
    option: &'static str,
    given: Given,
) -> Result<Option<Duration>, SetupError> {
    match take(option, given)? {
        Some(Duration::ZERO) => Err(invalid(option, "it is zero")),
        Some(duration) if duration < SHORTEST => Err(invalid(option, "it is shorter than 1 ms")),
        duration => Ok(duration),
    }
}

fn invalid(option: &'static str, reason: &'static str) -> SetupError {
    SetupError::InvalidOption { option, reason }
}
