//! What the library reports about its locks: metrics for an [`Observer`](crate::Observer), and spans for `tracing`.
//! Without an observer and a subscriber, this costs a call two checks and no allocation.

mod labels;

use std::fmt;

use tracing::level_filters::LevelFilter;

pub(crate) use self::labels::{BY_HAND, LockLabels, SEAT, operation, outcome};
use crate::base::error::{HoldKind, LossCause};
pub(crate) use crate::base::target::{ACQUIRE, HOLD, ORDER, STORE};
use crate::observer::{Metric, MetricKind, SharedObserver};
use crate::site::sites;
use crate::store::meta;

/// Changes each counter by zero, which creates its time series: of the annotated functions, and of handles without a
/// label.
pub(crate) fn begin(observer: &SharedObserver) {
    let counters = Metric::ALL.iter().copied();
    let counters = counters.filter(|metric| metric.kind() != MetricKind::Histogram);
    let sites = sites().into_iter();
    let sites = sites.map(|site| LockLabels::new(site.label_of(""), site.data.kind));
    let handles = HoldKind::ALL.map(|kind| match kind {
        HoldKind::Leader => LockLabels::new(SEAT, kind),
        kind => LockLabels::new(BY_HAND, kind),
    });
    for labels in sites.chain(handles) {
        for metric in counters.clone() {
            match metric {
                Metric::Lost => LossCause::ALL
                    .iter()
                    .for_each(|cause| observer.add(metric, &labels.lost(*cause), 0)),
                // Those of leaders begin with a seat that is stood for.
                Metric::StoreConnected
                | Metric::Leader
                | Metric::LeaderStanding
                | Metric::LeaderTerm
                | Metric::LeaderChanges => {}
                _ => observer.add(metric, &labels.pairs(), 0),
            }
        }
    }
    observer.add(Metric::StoreConnected, &[], 0);
}

/// Whether any subscriber may want our spans. If not, a call makes no further checks.
#[inline]
pub(crate) fn spans_are_on() -> bool {
    LevelFilter::current() >= LevelFilter::DEBUG
}

/// Displays the caller in `meta`: location in the code, process and machine. The text is made only when needed.
pub(crate) struct CallerLocation<'a>(pub(crate) &'a str);

impl fmt::Display for CallerLocation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match meta::caller(self.0) {
            Some(caller) => caller.fmt(f),
            None => Ok(()),
        }
    }
}
