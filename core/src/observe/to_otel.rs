//! [`OtelObserver`]: passes the metrics to OpenTelemetry.

use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram, Meter, UpDownCounter};
use opentelemetry::{KeyValue, global};

use super::{Metric, MetricKind, Observer};

/// Passes all metrics to the global meter provider of the crate [`opentelemetry`](https://docs.rs/opentelemetry). Needs the
/// feature `otel`.
///
/// Set the provider before you make the observer, because the observer keeps the provider that is set when it is made.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use auto_mutex::{Config, OtelObserver};
///
/// // opentelemetry::global::set_meter_provider(provider);
/// auto_mutex::setup(Config::new("redis://127.0.0.1:6379")?.observer(OtelObserver::new()))?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct OtelObserver {
    /// In the order of [`Metric::ALL`].
    instruments: Vec<Instrument>,
}

#[derive(Debug)]
enum Instrument {
    Histogram(Histogram<f64>),
    Counter(Counter<u64>),
    UpDownCounter(UpDownCounter<i64>),
}

impl OtelObserver {
    /// Makes the instruments with the global meter provider.
    #[must_use]
    pub fn new() -> Self {
        let meter = global::meter("auto_mutex");
        let instruments = Metric::ALL.iter().map(|metric| instrument(&meter, *metric));
        Self {
            instruments: instruments.collect(),
        }
    }

    fn instrument(&self, metric: Metric) -> Option<&Instrument> {
        let index = Metric::ALL.iter().position(|other| *other == metric)?;
        self.instruments.get(index)
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
            let histogram = meter
                .f64_histogram(name)
                .with_unit(unit)
                .with_description(text);
            Instrument::Histogram(histogram.with_boundaries(Metric::BUCKETS.to_vec()).build())
        }
        MetricKind::Counter => {
            let counter = meter
                .u64_counter(name)
                .with_unit(unit)
                .with_description(text);
            Instrument::Counter(counter.build())
        }
        MetricKind::UpDownCounter => {
            let counter = meter.i64_up_down_counter(name).with_unit(unit);
            Instrument::UpDownCounter(counter.with_description(text).build())
        }
    }
}

fn attributes(labels: &[(&'static str, &'static str)]) -> Vec<KeyValue> {
    let pair = |&(name, value): &(&'static str, &'static str)| KeyValue::new(name, value);
    labels.iter().map(pair).collect()
}

impl Observer for OtelObserver {
    fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64) {
        match self.instrument(metric) {
            Some(Instrument::Counter(counter)) => {
                counter.add(u64::try_from(change).unwrap_or(0), &attributes(labels));
            }
            Some(Instrument::UpDownCounter(counter)) => counter.add(change, &attributes(labels)),
            Some(Instrument::Histogram(_)) | None => {}
        }
    }

    fn record(&self, metric: Metric, labels: &[(&'static str, &'static str)], value: Duration) {
        if let Some(Instrument::Histogram(histogram)) = self.instrument(metric) {
            histogram.record(value.as_secs_f64(), &attributes(labels));
        }
    }
}
