//! The output of the users' exporters: names, kinds, units, labels and boundaries.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use auto_mutex::{
    Client, Config, LockError, Metric, MetricKind, MetricsObserver, Observer, OtelObserver, Term,
    sites,
};
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::redis::Redis;
use metrics_util::MetricKind as Exported;
use metrics_util::debugging::{DebugValue, DebuggingRecorder};
use opentelemetry::global;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};

/// Makes some calls on a server, and leads. Returns the number of the term.
async fn calls(observer: impl Observer) -> (Redis, Client, f64) {
    let redis = Redis::start();
    let config = Config::new(redis.url()).unwrap().lease(LONG);
    let config = config.connect_timeout("60s");
    let client = Client::connect(config.observer(observer)).unwrap();
    let mutex = client.mutex("m").metrics_label("here");
    for _ in 0..3 {
        assert!(mutex.lock().await.unwrap().unlock().await.unwrap());
    }
    let (sender, mut terms) = tokio::sync::mpsc::unbounded_channel();
    let seat = client.leader("seat");
    let leads = async move |term: &Term| {
        sender.send(term.number()).unwrap();
        std::future::pending::<Result<(), LockError>>().await
    };
    tokio::spawn(async move { seat.lead(leads).await });
    let term = soon("it leads", terms.recv()).await.unwrap();
    (redis, client, term as f64)
}

fn all_names() -> BTreeSet<String> {
    Metric::ALL
        .iter()
        .map(|metric| metric.name().to_owned())
        .collect()
}

#[tokio::test]
async fn the_crate_metrics_gets_all_metrics() {
    let recorder = DebuggingRecorder::new();
    let snapshots = recorder.snapshotter();
    recorder.install().expect("the only one");
    let (_redis, _client, term) = calls(MetricsObserver::new()).await;
    let mut names = BTreeSet::new();
    let mut found = BTreeMap::new();
    becomes("all are there", async || {
        for (key, unit, description, value) in snapshots.snapshot().into_vec() {
            let name = key.key().name().to_owned();
            let labels: Vec<String> = key
                .key()
                .labels()
                .map(|label| format!("{}={}", label.key(), label.value()))
                .collect();
            names.insert(name.clone());
            let entry: &mut Vec<_> = found.entry((name, labels)).or_default();
            entry.push((key.kind(), unit, description, value));
        }
        // The seat's metrics exist, with zero, before it leads; the observer hears of that after the body.
        let is_told = [("leader", 1.0), ("leader.term", term)].map(|(name, expected)| {
            let key = (
                format!("auto_mutex.{name}"),
                vec!["lock.site=leader".to_owned()],
            );
            let last = found.get(&key).and_then(|values| values.last());
            last.is_some_and(|last| last.3 == DebugValue::Gauge(expected.into()))
        });
        names == all_names() && is_told == [true; 2]
    })
    .await;
    for ((name, labels), values) in &found {
        let metric = Metric::ALL.iter().find(|metric| metric.name() == name);
        let metric = metric.expect("a metric of ours");
        let kind = match metric.kind() {
            MetricKind::Histogram => Exported::Histogram,
            MetricKind::Counter => Exported::Counter,
            _ => Exported::Gauge,
        };
        let keys: Vec<_> = labels
            .iter()
            .filter_map(|label| label.split_once('='))
            .collect();
        let keys: Vec<_> = keys.iter().map(|label| label.0).collect();
        assert_eq!(keys, metric.labels(), "{name}");
        for (exported, unit, description, _) in values {
            assert_eq!(*exported, kind, "{name}");
            assert_eq!(description.as_deref(), Some(metric.description()));
            assert_eq!(unit.is_some(), metric.unit() == "s", "{name}");
        }
    }
    let here = |name: &str, labels: &[&str]| {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        found.get(&(name.to_owned(), labels))
    };
    let taken = here(
        "auto_mutex.acquire.duration",
        &[
            "lock.site=here",
            "lock.kind=mutex",
            "outcome=acquired",
            "via=store",
        ],
    );
    let seconds = taken
        .into_iter()
        .flatten()
        .flat_map(|(_, _, _, value)| match value {
            DebugValue::Histogram(values) => values.clone(),
            other => panic!("{other:?}"),
        });
    let seconds: Vec<f64> = seconds.map(|value| value.0).collect();
    assert_eq!(seconds.len(), 3);
    assert!(seconds.iter().all(|second| *second >= 0.0));
    for site in sites() {
        let site = format!("lock.site={}", site.name());
        let known = |((name, labels), _): (&(String, Vec<String>), _)| {
            name == "auto_mutex.active" && labels[0] == site
        };
        assert!(found.iter().any(known), "{site}");
    }
}

/// The labels and the value of each data point of the last export.
fn points(exporter: &InMemoryMetricExporter) -> BTreeMap<String, Vec<(Vec<String>, f64)>> {
    let mut found: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let exports = exporter.get_finished_metrics().unwrap();
    let Some(last) = exports.last() else {
        return found;
    };
    let words = |attributes: &mut dyn Iterator<Item = &opentelemetry::KeyValue>| {
        let mut words: Vec<String> = attributes
            .map(|pair| format!("{}={}", pair.key, pair.value))
            .collect();
        words.sort();
        words
    };
    for exported in last.scope_metrics().flat_map(|scope| scope.metrics()) {
        let points = found.entry(exported.name().to_owned()).or_default();
        let metric = Metric::ALL
            .iter()
            .find(|metric| metric.name() == exported.name());
        let metric = metric.expect("a metric of ours");
        assert_eq!(exported.unit(), metric.unit());
        assert_eq!(exported.description(), metric.description());
        match exported.data() {
            AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                assert_eq!(metric.kind(), MetricKind::Histogram);
                for point in histogram.data_points() {
                    let bounds: Vec<f64> = point.bounds().collect();
                    assert_eq!(bounds, Metric::BUCKETS);
                    let count = point.count() as f64;
                    points.push((words(&mut point.attributes()), count));
                }
            }
            AggregatedMetrics::U64(MetricData::Sum(sum)) => {
                assert_eq!(metric.kind(), MetricKind::Counter);
                assert!(sum.is_monotonic());
                for point in sum.data_points() {
                    points.push((words(&mut point.attributes()), point.value() as f64));
                }
            }
            AggregatedMetrics::I64(MetricData::Sum(sum)) => {
                assert_eq!(metric.kind(), MetricKind::UpDownCounter);
                assert!(!sum.is_monotonic());
                for point in sum.data_points() {
                    points.push((words(&mut point.attributes()), point.value() as f64));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    found
}

#[tokio::test]
async fn opentelemetry_gets_all_metrics() {
    let exporter = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(exporter.clone()).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    global::set_meter_provider(provider.clone());
    let observer: Arc<dyn Observer> = Arc::new(OtelObserver::new());
    let (_redis, _client, term) = calls(observer).await;
    let seat = vec!["lock.site=leader".to_owned()];
    becomes("all are there", async || {
        provider.force_flush().unwrap();
        let found = points(&exporter);
        let names: BTreeSet<String> = found.keys().cloned().collect();
        let is_told = [("", 1.0), (".term", term), (".changes", 1.0)].map(|(name, value)| {
            let points = found.get(&format!("auto_mutex.leader{name}"));
            points.is_some_and(|points| *points == [(seat.clone(), value)])
        });
        names == all_names() && is_told == [true; 3]
    })
    .await;
    let found = points(&exporter);
    let here = ["lock.kind=mutex", "lock.site=here"]
        .map(str::to_owned)
        .to_vec();
    assert!(found["auto_mutex.active"].contains(&(here.clone(), 0.0)));
    assert!(found["auto_mutex.hold.duration"].contains(&(here, 3.0)));
    for site in sites() {
        let site = format!("lock.site={}", site.name());
        for name in ["active", "waiting", "lost", "handoff", "renewal.failures"] {
            let mut points = found[&format!("auto_mutex.{name}")].iter();
            assert!(
                points.any(|(labels, _)| labels.contains(&site)),
                "{name} of {site}"
            );
        }
    }
}
