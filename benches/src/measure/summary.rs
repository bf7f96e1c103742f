//! Median and range of repetitions; percentiles of samples.

use serde::{Deserialize, Serialize};

/// Median and range of a figure over several repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Summary {
    /// Returns `None` if there are no finite values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values
            .into_iter()
            .filter(|value| value.is_finite())
            .collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[middle]
        } else {
            f64::midpoint(values[middle - 1], values[middle])
        };
        Some(Self { median, min, max })
    }
}

/// Returns a percentile of sorted samples; `share` is between 0 and 1. Returns 0 without samples.
pub(crate) fn percentile(sorted: &[u64], share: f64) -> u64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0;
    };
    sorted[(last as f64 * share).round() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let of = |values: &[f64]| Summary::of(values.iter().copied()).unwrap();
        assert_eq!(of(&[3.0, 1.0, 2.0]).median, 2.0);
        let even = of(&[4.0, 1.0, 2.0, 3.0, f64::NAN]);
        assert_eq!((even.min, even.median, even.max), (1.0, 2.5, 4.0));
        assert_eq!(Summary::of([]), None);
    }

    #[test]
    fn percentiles_reach_from_the_first_to_the_last() {
        let samples: Vec<u64> = (0..=100).collect();
        assert_eq!(percentile(&samples, 0.0), 0);
        assert_eq!(percentile(&samples, 0.5), 50);
        assert_eq!(percentile(&samples, 0.99), 99);
        assert_eq!(percentile(&samples, 1.0), 100);
        assert_eq!(percentile(&[], 0.5), 0);
    }
}
