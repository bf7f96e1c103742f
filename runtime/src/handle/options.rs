//! [`Options`]: how a lock is taken.

use std::time::Duration;

use crate::config::{FOREVER, Settings, Span, check_expire};
use crate::error::LockError;
use crate::lease::Terms;
use crate::observe::BY_HAND;
use crate::queue::Patience;

/// The default of `interval`.
const INTERVAL: Duration = Duration::from_millis(10);

/// How a lock is taken. The client's settings fill in what is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// How long a holder may hold at most.
    pub(crate) expire: Option<Duration>,
    pub(crate) block: Option<Duration>,
    /// How often to try again instead of waiting in the queue.
    pub(crate) retries: Option<u32>,
    /// The pause before each of the `retries`.
    pub(crate) interval: Option<Duration>,
    /// The store keeps the lock at least this long after the grant, also when it is released earlier.
    pub(crate) at_least: Duration,
    pub(crate) reentrant: bool,
    /// The site label of the metrics; `None`: the lock is taken by hand.
    pub(crate) label: Option<&'static str>,
    /// An option whose value cannot be used, and why: the error of every call.
    pub(crate) unusable: Option<(&'static str, &'static str)>,
}

impl Options {
    /// The value of `option`. If it cannot be used, every call with these options fails.
    pub(crate) fn length(&mut self, option: &'static str, given: Span) -> Option<Duration> {
        self.unusable.take_if(|unusable| unusable.0 == option);
        match given {
            Ok(length) => Some(length),
            Err(reason) => {
                self.unusable = Some((option, reason));
                None
            }
        }
    }

    /// The site label of the metrics.
    #[inline]
    pub(crate) fn label(&self) -> &'static str {
        self.label.unwrap_or(BY_HAND)
    }

    /// The terms and the time limits of a call with these options.
    #[inline]
    pub(crate) fn apply(&self, settings: &Settings) -> Result<(Terms, Patience), LockError> {
        if let Some((option, reason)) = self.unusable {
            return Err(LockError::InvalidOption { option, reason });
        }
        let expire = match self.expire {
            Some(FOREVER) => None,
            Some(expire) => Some(check_expire("expire", expire)?),
            None => settings.expire,
        };
        let block = self.block.or(settings.block);
        let patience = match (self.retries, self.interval.unwrap_or(INTERVAL)) {
            (None, _) => Patience::block(block),
            (Some(_), Duration::ZERO) => {
                return Err(LockError::InvalidOption {
                    option: "interval",
                    reason: "retrying without a pause would only load the store: use more than zero",
                });
            }
            (Some(retries), interval) => Patience::Poll {
                retries,
                interval,
                block,
            },
        };
        let terms = Terms {
            expire,
            at_least: self.at_least,
        };
        Ok((terms, patience))
    }
}

/// Writes the options of a handle type, for its field `options`.
macro_rules! option_methods {
    ($handle:ty) => {
        impl $handle {
            /// How long a holder may hold the lock at most; `refresh` restarts this time. By default the client's
            /// setting (24 hours).
            ///
            /// The `expire` of a nested call (see `reentrant`) limits only the nested call. When it is over, the
            /// guard of the nested call is lost, and its async body ends. The outer call keeps the lock until its own
            /// `expire` is over.
            ///
            /// The lock of a dead process is free much sooner: when its lease ends. The lease is short, and is
            /// renewed in the background while the process lives.
            ///
            /// A number of seconds, a text like `"2m"`, or a `Duration`: see [`IntoDuration`](crate::IntoDuration).
            /// With a value that cannot be used, the call returns
            /// [`LockError::InvalidOption`](crate::LockError::InvalidOption).
            pub fn expire(mut self, expire: impl $crate::config::IntoDuration) -> Self {
                let expire = $crate::config::length(expire);
                self.options.expire = self.options.length("expire", expire);
                self
            }

            /// A holder may hold the lock as long as its process lives.
            pub fn never_expire(mut self) -> Self {
                self.options.expire = Some($crate::config::FOREVER);
                self
            }

            /// How long to wait for the lock, in the same forms as [`expire`](Self::expire); with zero a call does
            /// not wait. By default the client's setting (no limit).
            pub fn block(mut self, block: impl $crate::config::IntoDuration) -> Self {
                let block = $crate::config::block(block);
                self.options.block = self.options.length("block", block);
                self
            }

            /// Keep the lock at least this long, counted from the grant, even if it is released earlier: for jobs that
            /// start on several machines whose clocks differ. The store keeps the lock, even if the process ends
            /// sooner. Off by default. A nested call (see `reentrant`) may make this time longer. While a caller waits
            /// on a [`Condvar`](crate::Condvar), nobody else gets the lock until this time is over.
            pub fn at_least(mut self, at_least: impl $crate::config::IntoDuration) -> Self {
                let at_least = $crate::config::length(at_least);
                self.options.at_least = self
                    .options
                    .length("at_least", at_least)
                    .unwrap_or_default();
                self
            }

            /// Poll instead of queueing: up to `n` more attempts after the first, `interval` apart, then
            /// [`LockError::TooManyAttempts`](crate::LockError::TooManyAttempts). Waiting in the queue is fair and
            /// costs less; this option is for code that was written for a library that polls.
            pub fn retries(mut self, n: u32, interval: impl $crate::config::IntoDuration) -> Self {
                let interval = $crate::config::length(interval);
                self.options.retries = Some(n);
                self.options.interval = self.options.length("interval", interval);
                self
            }

            /// The label `lock.site` of this handle's metrics ([`Metric`](crate::Metric)), instead of `by_hand`. The
            /// label must be a constant of the program, because each label makes a series of its own: no key can
            /// become a label by accident.
            pub fn metrics_label(mut self, label: &'static str) -> Self {
                self.options.label = Some(label);
                self
            }
        }
    };
}
pub(crate) use option_methods;
