//! [`Observer`]: receives the metrics of a client's locks. `observe` reports to it.

mod metric;
#[cfg(feature = "metrics")]
mod to_metrics;
#[cfg(feature = "otel")]
mod to_otel;

use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

pub use self::metric::{CAUSE, KIND, OPERATION, OUTCOME, SITE, VIA};
pub use self::metric::{Metric, MetricKind};
#[cfg(feature = "metrics")]
pub use self::to_metrics::MetricsObserver;
#[cfg(feature = "otel")]
pub use self::to_otel::OtelObserver;

/// Receives the metrics of a client's locks: see [`Config::observer`](crate::Config::observer).
///
/// The features `metrics` and `otel` add observers for the crates `metrics` and `opentelemetry`. For other
/// destinations, implement the two methods; [`Metric`] has the names, units and descriptions.
///
/// A label is a pair of texts. All of them are constants of the program, so there are few: no key, host, token or
/// complete name is ever a label.
///
/// The library calls the methods with none of its mutexes locked, on the caller's thread or on a dedicated thread of
/// the client. They should neither block nor panic, and must not take locks of this library.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicI64, Ordering};
/// use std::time::Duration;
///
/// use auto_mutex::{Client, Config, Metric, Observer};
///
/// #[derive(Default)]
/// struct Active(AtomicI64);
///
/// impl Observer for Active {
///     fn add(&self, metric: Metric, _labels: &[(&'static str, &'static str)], change: i64) {
///         if metric == Metric::Active {
///             self.0.fetch_add(change, Ordering::Relaxed);
///         }
///     }
///
///     fn record(&self, _: Metric, _: &[(&'static str, &'static str)], _: Duration) {}
/// }
///
/// let active = Arc::new(Active::default());
/// let client = Client::connect(Config::new("memory://")?.observer(active.clone()))?;
/// let guard = client.mutex("reports").blocking_lock()?;
/// assert_eq!(active.0.load(Ordering::Relaxed), 1);
/// drop(guard);
/// assert_eq!(active.0.load(Ordering::Relaxed), 0);
/// # Ok(()) }
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Changes a counter or an up-down counter. A change of zero only creates the time series; a new client reports
    /// such changes for every annotated function.
    fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64);

    /// Adds a value to a histogram.
    fn record(&self, metric: Metric, labels: &[(&'static str, &'static str)], value: Duration);
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64) {
        (**self).add(metric, labels, change);
    }

    fn record(&self, metric: Metric, labels: &[(&'static str, &'static str)], value: Duration) {
        (**self).record(metric, labels, value);
    }
}

#[derive(Clone)]
pub struct SharedObserver(Arc<dyn Observer>);

// The library keeps no state in an observer that a panic could break.
impl UnwindSafe for SharedObserver {}
impl RefUnwindSafe for SharedObserver {}

impl SharedObserver {
    pub fn new(observer: impl Observer) -> Self {
        Self(Arc::new(observer))
    }
}

impl Deref for SharedObserver {
    type Target = dyn Observer;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for SharedObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}
