//! [`OtelObserver`]: passes the metrics to OpenTelemetry.

use std::fmt;
use std::time::Duration;

use opentelemetry::metrics::Meter;
use opentelemetry::{KeyValue, global};

use super::{Metric, MetricKind, Observer};

/// Passes all metrics to the global meter provider of the crate [`opentelemetry`](https://docs.rs/opentelemetry). Needs
/// the feature `otel`.
///
/// Set the provider before making the observer, which keeps the one it finds.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use auto_mutex::{Config, OtelObserver};
///
/// // opentelemetry::global::set_meter_provider(provider);
/// auto_mutex::setup(Config::new("redis://127.0.0.1:6379")?.observer(OtelObserver::new()))?;
/// # Ok(()) }
/// ```
pub struct OtelObserver {
    /// In the order of [`Metric::ALL`].
    instruments: Vec<Instrument>,
}

/// Adds a change, or records a number of seconds.
type Instrument = Box<dyn Fn(f64, &[KeyValue]) + Send + Sync>;

impl OtelObserver {
    /// Makes the instruments with the current global meter provider.
    #[must_use]
    pub fn new() -> Self {
        let meter = global::meter("auto_mutex");
        let instruments = Metric::ALL.iter().map(|metric| instrument(&meter, *metric));
        Self {
            instruments: instruments.collect(),
        }
    }

    fn report(&self, metric: Metric, labels: &[(&'static str, &'static str)], value: f64) {
        let index = Metric::ALL.iter().position(|other| *other == metric);
        if let Some(instrument) = index.and_then(|index| self.instruments.get(index)) {
            let labels = labels.iter();
            let attributes = labels.map(|(name, value)| KeyValue::new(*name, *value));
            instrument(value, &attributes.collect::<Vec<_>>());
        }
    }
}

impl Default for OtelObserver {
    fn default() -> Self {
        Self::new()
    }
}

fn instrument(meter: &Meter, metric: Metric) -> Instrument {
    let (name, unit, text) = (metric.name(), metric.unit(), metric.description());
    match metric.kind() {
        MetricKind::Histogram => {
            let histogram = meter.f64_histogram(name).with_unit(unit);
            let histogram = histogram.with_description(text);
            let histogram = histogram.with_boundaries(Metric::BUCKETS.to_vec()).build();
            Box::new(move |value, labels| histogram.record(value, labels))
        }
        MetricKind::Counter => {
            let counter = meter.u64_counter(name).with_unit(unit);
            let counter = counter.with_description(text).build();
            Box::new(move |change, labels| counter.add(change as u64, labels))
        }
        MetricKind::UpDownCounter => {
            let counter = meter.i64_up_down_counter(name).with_unit(unit);
            let counter = counter.with_description(text).build();
            Box::new(move |change, labels| counter.add(change as i64, labels))
        }
    }
}

impl Observer for OtelObserver {
    fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64) {
        self.report(metric, labels, change as f64);
    }

    fn record(&self, metric: Metric, labels: &[(&'static str, &'static str)], value: Duration) {
        self.report(metric, labels, value.as_secs_f64());
    }
}

impl fmt::Debug for OtelObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OtelObserver")
    }
}
