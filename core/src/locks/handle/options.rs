//! [`Options`]: the options of a handle or an attribute, and what they mean for one call.

use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;
use std::time::Duration;

use crate::base::duration::{FOREVER, ToDuration, check_expire, length};
use crate::base::error::LockError;
use crate::config::{Settings, check_max_waiters};
use crate::lease::Tenure;
use crate::observe::BY_HAND;
use crate::queue::Patience;
use crate::site::Lengths;

const INTERVAL: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reentry {
    /// Fails with [`LockError::AlreadyHeld`].
    #[default]
    Refused,
    /// Shares the hold.
    Enters,
    /// Fails with [`LockError::Deadlock`].
    Deadlock,
}

/// The methods of handles describe these options.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) lengths: Lengths,
    /// `None` for a call that waits in the queue instead of polling.
    pub(crate) retries: Option<u32>,
    pub(crate) reentry: Reentry,
    /// The site's label, or `None` for a lock taken by hand.
    pub(crate) label: Option<&'static str>,
    /// An unusable option and the reason. Every call fails with it.
    pub(crate) unusable: Option<(&'static str, &'static str)>,
}

/// The options of a handle. Most handles have none, and are small.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandleOptions(Option<Box<Options>>);

impl Deref for HandleOptions {
    type Target = Options;

    #[inline]
    fn deref(&self) -> &Options {
        static NONE: LazyLock<Options> = LazyLock::new(Options::default);
        self.0.as_deref().unwrap_or_else(|| &NONE)
    }
}

impl DerefMut for HandleOptions {
    fn deref_mut(&mut self) -> &mut Options {
        self.0.get_or_insert_default()
    }
}

impl Options {
    /// Sets the duration of this name, or records that its value can't be used.
    pub(crate) fn set(&mut self, option: &'static str, given: impl ToDuration) {
        self.unusable.take_if(|unusable| unusable.0 == option);
        match length(given) {
            Ok(length) => self.lengths.set(option, length),
            Err(reason) => self.unusable = Some((option, reason)),
        }
    }

    #[inline]
    pub(crate) fn max_waiters(&self, settings: &Settings) -> Option<u32> {
        self.lengths.max_waiters.or(settings.max_waiters)
    }

    pub(crate) fn set_max_waiters(&mut self, most: u32) {
        match check_max_waiters(most) {
            Ok(most) => self.lengths.max_waiters = Some(most),
            Err(reason) => self.unusable = Some(("max_waiters", reason)),
        }
    }

    #[inline]
    pub(crate) fn label(&self) -> &'static str {
        self.label.unwrap_or(BY_HAND)
    }

    #[inline]
    pub(crate) fn apply(&self, settings: &Settings) -> Result<(Tenure, Patience), LockError> {
        if let Some((option, reason)) = self.unusable {
            return Err(LockError::invalid(option, reason));
        }
        let tenure = self.lengths.tenure;
        let expire = match tenure.expire {
            Some(FOREVER) => None,
            Some(expire) => Some(check_expire("expire", expire)?),
            None => settings.expire,
        };
        let block = self.lengths.block.or(settings.block);
        let patience = match (self.retries, self.lengths.interval.unwrap_or(INTERVAL)) {
            (None, _) => Patience::block(block),
            (Some(_), Duration::ZERO) => {
                let reason =
                    "retrying without a pause would only load the store: use more than zero";
                return Err(LockError::invalid("interval", reason));
            }
            (Some(retries), interval) => Patience::Poll {
                retries,
                interval,
                block,
            },
        };
        let tenure = Tenure {
            expire,
            retain: settings.retain_for(tenure.retain),
            ..tenure
        };
        Ok((tenure, patience))
    }
}

/// The option methods for a type of handle. `$options` is the path from a handle to its options.
macro_rules! option_methods {
    ($handle:ty, $($options:ident).+) => {
        impl $handle {
            /// Allows a task that holds the lock to take it again; the guards share one hold. The `expire` of the inner
            /// call limits only that call, and does not change that of the outer call.
            ///
            /// - A reader of a [`RwLock`](crate::RwLock) may read again, and a writer may do both. A task that holds
            ///   the lock for reading and asks to write gets [`LockError::Deadlock`](crate::LockError::Deadlock).
            /// - A task that already holds at least as many permits of a [`Semaphore`](crate::Semaphore) as it asks for
            ///   shares them. Without this option, every call takes its own permits.
            /// - A call of a [`MultiLock`](crate::MultiLock) shares those of its locks that the task already holds.
            ///
            /// A guard of a re-entrant handle counts as held by the task that took it, so don't move it to another
            /// task. The guide has [the full
            /// rule](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/handles#which-task-holds-a-lock).
            pub fn reentrant(mut self) -> Self {
                self.$($options).+.reentry = $crate::locks::handle::Reentry::Enters;
                self
            }

            /// Sets the longest time that a holder may hold the lock; `refresh` restarts it. The default is the
            /// client's setting (24 hours).
            ///
            /// The `expire` of a nested call (see `reentrant`) limits only that call: when it ends, the nested call's
            /// guard is lost, and its async body ends. The outer call keeps the lock until its own `expire`.
            ///
            /// The lock of a dead process is free much sooner, at the end of its lease. Leases are short, and are
            /// renewed in the background while the process lives.
            ///
            /// Takes a `Duration`, or a text like `"2m"`: see [`IntoDuration`](crate::IntoDuration). With an invalid
            /// value, the call returns [`LockError::InvalidOption`](crate::LockError::InvalidOption).
            pub fn expire(mut self, expire: impl $crate::base::duration::IntoDuration) -> Self {
                self.$($options).+.set("expire", expire);
                self
            }

            /// Removes `expire`: a holder may hold the lock as long as its process lives.
            pub fn never_expire(mut self) -> Self {
                self.$($options).+.lengths.tenure.expire = Some($crate::base::duration::FOREVER);
                self
            }

            /// Sets how long a call waits for the lock, in the same forms as [`expire`](Self::expire); zero means that
            /// it does not wait. The default is the client's setting (no limit).
            pub fn block(mut self, block: impl $crate::base::duration::IntoDuration) -> Self {
                self.$($options).+.set("block", block);
                self
            }

            /// Keeps the lock for at least this time after the grant, even if the holder releases it earlier: for jobs
            /// that start on several machines with differing clocks. The store does so even if the process ends sooner,
            /// unless it is killed: then the lock is free at the end of its lease. `end_at_least` of a guard ends it
            /// early. Off by default. A nested call (see `reentrant`) may extend this time. While the holder waits on a
            /// [`Condvar`](crate::Condvar), other callers still have to wait for this time to end.
            pub fn at_least(mut self, at_least: impl $crate::base::duration::IntoDuration) -> Self {
                self.$($options).+.set("at_least", at_least);
                self
            }

            /// Makes a call poll instead of waiting in the queue. After its first attempt, it makes up to `n` more,
            /// `interval` apart, and then returns [`LockError::TooManyAttempts`](crate::LockError::TooManyAttempts).
            /// The queue is fair and costs less; this option is for code written for a library that polls.
            pub fn retries(mut self, n: u32, interval: impl $crate::base::duration::IntoDuration) -> Self {
                self.$($options).+.retries = Some(n);
                self.$($options).+.set("interval", interval);
                self
            }

            /// Sets how many calls may wait for the lock. With so many, a further call gets
            /// [`LockError::Busy`](crate::LockError::Busy) at once. The default is the client's setting:
            /// [`Config::max_waiters`](crate::Config::max_waiters) says how exactly calls are counted.
            pub fn max_waiters(mut self, most: u32) -> Self {
                self.$($options).+.set_max_waiters(most);
                self
            }

            /// Sets the label of this handle's locks, which an annotated function takes from
            /// [`Site::name`](crate::Site::name); the default is `by_hand`. It is the label `lock.site` of the
            /// [metrics](crate::Metric), and the lock order compares handles that have one.
            ///
            /// Each label makes another time series. It must be a constant of the program, so that a lock's key can't
            /// become a label by accident.
            pub fn metrics_label(mut self, label: &'static str) -> Self {
                self.$($options).+.label = Some(label);
                self
            }
        }
    };
}
pub(crate) use option_methods;

/// The option `retain`, for the handles whose locks can be kept.
macro_rules! retain_method {
    ($handle:ty) => {
        impl $handle {
            /// Sets how long the client keeps the lock after a call, if nobody else asks for it. The client's next call
            /// then needs no request to the store. Zero turns this off; the default is the client's setting:
            /// [`Config::retain`](crate::Config::retain) has the details.
            pub fn retain(mut self, time: impl $crate::base::duration::IntoDuration) -> Self {
                self.handle.options.set("retain", time);
                self
            }
        }
    };
}
pub(crate) use retain_method;
