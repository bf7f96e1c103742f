//! [`MetricsObserver`]: passes the metrics to the crate `metrics`.

use std::time::Duration;

use metrics::{Key, Label, Level, Metadata, Unit, with_recorder};

use super::{Metric, MetricKind, Observer};

/// Passes all metrics to the recorder of the crate [`metrics`](https://docs.rs/metrics). Needs the feature `metrics`.
///
/// Install the recorder before set-up. Values reported earlier are lost, including the zeros of the annotated
/// functions.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use auto_mutex::{Config, MetricsObserver};
///
/// // metrics_exporter_prometheus::PrometheusBuilder::new()
/// //     .with_recommended_naming(true)
/// //     .set_buckets(auto_mutex::Metric::BUCKETS)?
/// //     .install()?;
/// auto_mutex::setup(Config::new("redis://127.0.0.1:6379")?.observer(MetricsObserver::new()))?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct MetricsObserver(());

impl MetricsObserver {
    /// Describes the metrics to the installed recorder.
    #[must_use]
    pub fn new() -> Self {
        with_recorder(|recorder| {
            for metric in Metric::ALL {
                let (name, text) = (metric.name().into(), metric.description().into());
                match metric.kind() {
                    MetricKind::Histogram => {
                        recorder.describe_histogram(name, Some(Unit::Seconds), text);
                    }
                    MetricKind::Counter => recorder.describe_counter(name, None, text),
                    MetricKind::UpDownCounter => recorder.describe_gauge(name, None, text),
                }
            }
        });
        Self(())
    }
}

impl Default for MetricsObserver {
    fn default() -> Self {
        Self::new()
    }
}

const METADATA: Metadata<'static> = Metadata::new("auto_mutex", Level::INFO, None);

fn key(metric: Metric, labels: &[(&'static str, &'static str)]) -> Key {
    let label =
        |&(name, value): &(&'static str, &'static str)| Label::from_static_parts(name, value);
    Key::from_parts(metric.name(), labels.iter().map(label).collect::<Vec<_>>())
}

impl Observer for MetricsObserver {
    fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64) {
        let key = key(metric, labels);
        with_recorder(|recorder| match metric.kind() {
            MetricKind::Counter => {
                let change = u64::try_from(change).unwrap_or(0);
                recorder.register_counter(&key, &METADATA).increment(change);
            }
            _ => recorder
                .register_gauge(&key, &METADATA)
                .increment(change as f64),
        });
    }

    fn record(&self, metric: Metric, labels: &[(&'static str, &'static str)], value: Duration) {
        let key = key(metric, labels);
        with_recorder(|recorder| {
            let histogram = recorder.register_histogram(&key, &METADATA);
            histogram.record(value.as_secs_f64());
        });
    }
}
