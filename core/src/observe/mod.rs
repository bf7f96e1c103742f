//! What the library reports about its locks: metrics for an [`Observer`], and spans for `tracing`. Without an observer
//! and a subscriber, a call makes two checks for all of this, and allocates nothing.

mod labels;
mod metric;
mod span;
#[cfg(feature = "metrics")]
mod to_metrics;
#[cfg(feature = "otel")]
mod to_otel;

use std::fmt;
use std::ops::Deref;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::labels::{BY_HAND, LockLabels, operation, outcome};
pub use self::metric::{Metric, MetricKind};
pub(crate) use self::span::{CallerPlace, spans_are_on};
#[cfg(feature = "metrics")]
pub use self::to_metrics::MetricsObserver;
#[cfg(feature = "otel")]
pub use self::to_otel::OtelObserver;
use crate::error::LossCause;
use crate::site::sites;

// The targets of events and spans.
pub(crate) const ACQUIRE: &str = "auto_mutex::acquire";
pub(crate) const HOLD: &str = "auto_mutex::hold";
pub(crate) const ORDER: &str = "auto_mutex::order";

/// Gets the metrics of a client's locks: see [`Config::observer`](crate::Config::observer).
///
/// The features `metrics` and `otel` add observers for the crates `metrics` and `opentelemetry`. For any other
/// destination, implement the two methods; [`Metric`] has the names, units and descriptions.
///
/// A label is a pair of texts. All texts are constants of the program, so there are few of them: no key, host, token or
/// complete name is ever a label.
///
/// The library calls the methods outside of all its mutexes, on the caller's thread, or on a thread of the client that
/// does nothing else. The methods should neither block nor panic, and must not take locks of this library.
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
    /// A counter or an up-down counter changes. A change of zero only creates the series: when a client is made, such
    /// changes are reported for every annotated function.
    fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64);

    /// A histogram gets a value.
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
pub(crate) struct SharedObserver(Arc<dyn Observer>);

// The library keeps no state in an observer, so a panic cannot break any.
impl UnwindSafe for SharedObserver {}
impl RefUnwindSafe for SharedObserver {}

impl SharedObserver {
    pub(crate) fn new(observer: impl Observer) -> Self {
        Self(Arc::new(observer))
    }

    /// Changes each counter by zero, so that its series exists.
    pub(crate) fn begin(&self) {
        let counters = Metric::ALL.iter().copied();
        let counters = counters.filter(|metric| metric.kind() != MetricKind::Histogram);
        for site in sites() {
            let labels = LockLabels::new(site.label_of(""), site.hold_kind());
            for metric in counters.clone() {
                match metric {
                    Metric::Lost => LossCause::ALL
                        .iter()
                        .for_each(|cause| self.add(metric, &labels.lost(*cause), 0)),
                    Metric::StoreConnected => {}
                    _ => self.add(metric, &labels.pairs(), 0),
                }
            }
        }
        self.add(Metric::StoreConnected, &[], 0);
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
