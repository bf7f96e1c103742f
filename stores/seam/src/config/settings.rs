//! [`Settings`]: the options of a configuration, with their defaults and checks.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::Deadlock;
use crate::base::duration::{IntoDuration, span};
use crate::base::error::{LockError, StoreError};
use crate::base::name::Name;
use crate::observer::SharedObserver;
use crate::store::engine::Layout;
use crate::store::{Engine, Replicas, StoreOptions};
use crate::store::{LIMITS, Limits, TOKENS_OF_A_GRANT};
use auto_mutex_protocol::StoreErrorKind;

const SHORTEST_LEASE: Duration = Duration::from_millis(100);
/// The minimum of most options: the resolution of the store's clock.
pub(super) const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST_NAMESPACE: usize = 256;
/// The grant uses the first of its fencing tokens, and each handoff one more.
const MOST_HANDOFFS: u32 = TOKENS_OF_A_GRANT as u32 - 1;

/// The reason if the limit can't be used.
#[doc(hidden)]
pub fn check_max_waiters(most: u32) -> Result<u32, &'static str> {
    match most {
        0 => Err("no call could wait: give at least 1, or `block = 0`"),
        _ => Ok(most),
    }
}

pub(super) type Checked<T> = Result<T, Cow<'static, str>>;

/// Values that depend on other options are methods.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the locks are.
    #[doc(hidden)]
    pub engine: Arc<dyn Engine>,
    pub namespace: Option<String>,
    pub site: Option<String>,
    /// `None` for no limit.
    pub expire: Option<Duration>,
    /// `None` for no limit.
    pub block: Option<Duration>,
    /// `None` for no limit.
    pub max_waiters: Option<u32>,
    /// `None` for no warnings.
    pub slow: Option<Duration>,
    pub deadlock: Deadlock,
    pub deadlock_after: Duration,
    pub(super) store_timeout: Option<Duration>,
    /// How often, and for how long after the store's grant. Zero times turns handoffs off.
    pub handoff: (u32, Duration),
    /// How long locks are kept after a call; `None` for only those that ask for it, and zero for none at all.
    pub(super) retain: Option<Duration>,
    /// What the engine needs to know.
    #[doc(hidden)]
    pub options: StoreOptions,
    pub lazily: bool,
    pub limits: &'static Limits,
    /// Locks exclude nobody.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) skips: bool,
    pub reentrant: bool,
    pub observer: Option<SharedObserver>,
    pub allowed_orders: Vec<(String, String)>,
    /// The host and the process id that a test wants.
    #[doc(hidden)]
    pub process: Option<(String, u32)>,
}

impl Settings {
    pub(super) fn at(engine: Arc<dyn Engine>) -> Self {
        let layout = engine.layout();
        Self {
            engine,
            namespace: None,
            site: None,
            expire: Some(Duration::from_secs(24 * 60 * 60)),
            block: None,
            max_waiters: None,
            slow: Some(Duration::from_secs(30)),
            deadlock: Deadlock::default(),
            deadlock_after: Duration::from_secs(1),
            store_timeout: None,
            handoff: (100, Duration::from_millis(5)),
            limits: &LIMITS,
            retain: None,
            options: StoreOptions {
                connect_timeout: Duration::from_secs(5),
                restart_guard: !matches!(layout, Layout::InProcess | Layout::OneServer),
                trust_failover: false,
                longest_lease: LIMITS.longest_lease,
                lease: None,
                replicas: None,
                is_voter: false,
            },
            lazily: false,
            #[cfg(any(test, feature = "test-util"))]
            skips: false,
            reentrant: true,
            observer: None,
            allowed_orders: Vec::new(),
            process: None,
        }
    }

    #[inline]
    pub fn lease(&self) -> Duration {
        self.options.lease()
    }

    /// For a call whose own option is `retain`.
    #[inline]
    pub fn retain_for(&self, retain: Option<Duration>) -> Option<Duration> {
        let retain = retain.or(self.retain).filter(|time| !time.is_zero());
        retain.filter(|_| self.retains())
    }

    /// Whether locks exclude nobody, which a test can ask for.
    #[inline]
    pub fn skips(&self) -> bool {
        #[cfg(any(test, feature = "test-util"))]
        return self.skips;
        #[cfg(not(any(test, feature = "test-util")))]
        false
    }

    /// Whether any lock can be kept after a call.
    #[inline]
    pub fn retains(&self) -> bool {
        self.retain != Some(Duration::ZERO) && self.can_recall()
    }

    /// The servers of a quorum don't know whether others wait, and replicas would have to confirm each touch.
    fn can_recall(&self) -> bool {
        self.engine.layout() != Layout::Quorum && self.options.replicas.is_none()
    }

    #[inline]
    pub fn store_timeout(&self) -> Duration {
        self.store_timeout.unwrap_or_else(|| self.lease())
    }

    /// The error of a call for `name` that failed with `source` in this store.
    pub fn lock_error(&self, name: &Name, source: StoreError) -> LockError {
        match source.kind() {
            StoreErrorKind::Foreign => LockError::ForeignKey {
                name: name.to_string(),
            },
            StoreErrorKind::Unsupported => LockError::Unsupported {
                name: name.to_string(),
                what: source.to_string(),
                store: self.engine.scheme(),
            },
            StoreErrorKind::Unreplicated { wanted, reached } => LockError::NotReplicated {
                name: name.to_string(),
                wanted,
                reached,
            },
            _ => self.unavailable(name, source),
        }
    }

    /// [`LockError::Unavailable`] for a call for `name` that the store did not serve because of `source`.
    pub fn unavailable(&self, name: &Name, source: StoreError) -> LockError {
        LockError::Unavailable {
            name: name.to_string(),
            server: self.engine.servers(),
            source,
        }
    }

    /// For a client that never holds a lock: it connects immediately, and does not extend the time without grants after
    /// a restart or failover. It waits for an answer as long as for a connection, unless told otherwise.
    pub fn without_holds(&self) -> Self {
        Self {
            options: StoreOptions {
                longest_lease: SHORTEST_LEASE,
                lease: Some(SHORTEST_LEASE),
                restart_guard: false,
                replicas: None,
                ..self.options
            },
            lazily: false,
            reentrant: true,
            store_timeout: self.store_timeout.or(Some(self.options.connect_timeout)),
            ..self.clone()
        }
    }

    pub(super) fn check(&self) -> Result<(), (&'static str, &'static str)> {
        if self.lease() > self.options.longest_lease {
            return Err(("lease", "it is longer than `longest_lease`"));
        }
        let too_slow = |replicas: Replicas| replicas.timeout >= self.lease();
        if self.options.replicas.is_some_and(too_slow) {
            let reason = "the timeout must be shorter than the lease, or no grant would be valid";
            return Err(("replicas", reason));
        }
        self.engine.check(&self.options)?;
        match self.retain.is_none_or(|retain| retain.is_zero()) || self.can_recall() {
            true => Ok(()),
            false => Err((
                "retain",
                "locks can't be kept in a quorum, or with `replicas`",
            )),
        }
    }
}

pub(super) fn lease(time: impl IntoDuration) -> Checked<Duration> {
    let lease = at_least(SHORTEST_LEASE, time)?;
    let longest = LIMITS.longest_lease;
    match lease > longest {
        true => Err(format!(
            "{lease:?} is longer than {longest:?}; it is renewed in the background, `expire` is what limits a holder"
        )
        .into()),
        false => Ok(lease),
    }
}

/// Zero turns the warning off.
pub(super) fn slow(time: impl IntoDuration) -> Checked<Option<Duration>> {
    match span(time)? {
        Duration::ZERO => Ok(None),
        slow => Ok(Some(at_least(SHORTEST, slow)?)),
    }
}

pub(super) fn namespace(namespace: String) -> Checked<String> {
    match namespace.len() {
        0 => Err("it is empty".into()),
        length if length > LONGEST_NAMESPACE => Err("it is longer than 256 bytes".into()),
        _ => Ok(namespace),
    }
}

pub(super) fn handoff(times: u32, time: impl IntoDuration) -> Checked<(u32, Duration)> {
    if times > MOST_HANDOFFS {
        return Err(format!("more than {MOST_HANDOFFS} times").into());
    }
    Ok((times, span(time)?))
}

pub(super) fn replicas(count: u32, timeout: impl IntoDuration) -> Checked<Option<Replicas>> {
    let timeout = span(timeout)?;
    if count == 0 {
        return Ok(None);
    }
    let timeout = at_least(SHORTEST, timeout)?;
    Ok(Some(Replicas { count, timeout }))
}

pub(super) fn at_least(shortest: Duration, time: impl IntoDuration) -> Checked<Duration> {
    let time = span(time)?;
    match time < shortest {
        true => Err(format!("{time:?} is shorter than {shortest:?}").into()),
        false => Ok(time),
    }
}
