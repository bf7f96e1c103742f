//! An observer that records all changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use auto_mutex::{Client, Metric, Observer};
use auto_mutex_tests::stores::TestStore;

type Labels = Vec<(&'static str, &'static str)>;

/// The changes that an observer has received.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<BTreeMap<(&'static str, Labels), Series>>>);

/// One series.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    /// The sum of all changes, or the number of values.
    pub(crate) total: i64,
    /// The lowest sum so far.
    pub(crate) least: i64,
    pub(crate) values: Vec<Duration>,
}

impl Observer for Seen {
    fn add(&self, metric: Metric, labels: &[(&'static str, &'static str)], change: i64) {
        self.with(metric, labels, |series| {
            series.total += change;
            series.least = series.least.min(series.total);
        });
    }

    fn record(&self, metric: Metric, labels: &[(&'static str, &'static str)], value: Duration) {
        self.with(metric, labels, |series| {
            series.total += 1;
            series.values.push(value);
        });
    }
}

impl Seen {
    fn with(
        &self,
        metric: Metric,
        labels: &[(&'static str, &'static str)],
        change: impl FnOnce(&mut Series),
    ) {
        let names: Vec<_> = labels.iter().map(|label| label.0).collect();
        assert_eq!(names, metric.labels(), "{metric:?}");
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(all.entry((metric.name(), labels.to_vec())).or_default());
    }

    /// All series of a metric.
    pub(crate) fn series(&self, metric: Metric) -> Vec<(Labels, Series)> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of = all.iter().filter(|((name, _), _)| *name == metric.name());
        of.map(|((_, labels), series)| (labels.clone(), series.clone()))
            .collect()
    }

    /// The sum of the series of a metric that have all these labels.
    pub(crate) fn total(&self, metric: Metric, labels: &[(&'static str, &'static str)]) -> i64 {
        let has = |all: &Labels| labels.iter().all(|label| all.contains(label));
        let series = self.series(metric);
        let totals = series.iter().filter(|(all, _)| has(all));
        totals.map(|(_, series)| series.total).sum()
    }

    /// Returns the number of calls of `site` that ended with `outcome`.
    pub(crate) fn outcomes(&self, site: &'static str, outcome: &'static str) -> i64 {
        let labels = [("lock.site", site), ("outcome", outcome)];
        self.total(Metric::AcquireDuration, &labels)
    }

    /// Returns a member of `store` with this observer.
    pub(crate) fn member(&self, store: &dyn TestStore) -> Client {
        Client::connect(store.config().observer(self.clone())).expect("a client")
    }
}
