//! [`Seconds`]: how the options of [`Config`](super::Config) accept a length of time.

use std::time::Duration;

/// A number of seconds, or a [`Duration`].
///
/// Implemented for `i32`, `u32`, `i64`, `u64`, `f32`, `f64` and `Duration`; sealed. An unusable number (negative, NaN,
/// too large) is reported by `setup` and `Client::connect`.
pub trait Seconds: sealed::ToDuration {}

impl<T: sealed::ToDuration> Seconds for T {}

/// A hundred years: longer than anybody waits, and far from any overflow.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

const NEGATIVE: &str = "it is negative";
const HUGE: &str = "it is more than a hundred years";

/// A duration, or what is wrong with it.
pub(super) type Span = Result<Duration, &'static str>;

pub(super) fn span(seconds: impl Seconds) -> Result<Duration, &'static str> {
    match seconds.to_duration()? {
        duration if duration > LONGEST => Err(HUGE),
        duration => Ok(duration),
    }
}

mod sealed {
    use std::time::Duration;

    use super::{HUGE, NEGATIVE};

    pub trait ToDuration {
        fn to_duration(self) -> Result<Duration, &'static str>;
    }

    impl ToDuration for Duration {
        fn to_duration(self) -> Result<Duration, &'static str> {
            Ok(self)
        }
    }

    macro_rules! integer {
        ($($integer:ty)*) => {$(
            impl ToDuration for $integer {
                fn to_duration(self) -> Result<Duration, &'static str> {
                    u64::try_from(self).map(Duration::from_secs).map_err(|_| NEGATIVE)
                }
            }
        )*};
    }

    integer!(i32 u32 i64 u64);

    impl ToDuration for f64 {
        fn to_duration(self) -> Result<Duration, &'static str> {
            if self.is_nan() {
                return Err("it is not a number");
            }
            if self < 0.0 {
                return Err(NEGATIVE);
            }
            Duration::try_from_secs_f64(self).map_err(|_| HUGE)
        }
    }

    impl ToDuration for f32 {
        fn to_duration(self) -> Result<Duration, &'static str> {
            f64::from(self).to_duration()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_floats_and_durations_are_seconds() {
        assert_eq!(span(10), Ok(Duration::from_secs(10)));
        assert_eq!(span(10_u32), Ok(Duration::from_secs(10)));
        assert_eq!(span(10_i64), Ok(Duration::from_secs(10)));
        assert_eq!(span(10_u64), Ok(Duration::from_secs(10)));
        assert_eq!(span(0.25), Ok(Duration::from_millis(250)));
        assert_eq!(span(0.25_f32), Ok(Duration::from_millis(250)));
        assert_eq!(span(Duration::from_millis(3)), Ok(Duration::from_millis(3)));
        assert_eq!(span(0), Ok(Duration::ZERO));
        assert_eq!(span(-0.0), Ok(Duration::ZERO));
    }

    #[test]
    fn what_is_no_span_of_time_is_refused() {
        assert_eq!(span(-1), Err(NEGATIVE));
        assert_eq!(span(i64::MIN), Err(NEGATIVE));
        assert_eq!(span(-0.1), Err(NEGATIVE));
        assert_eq!(span(f64::NEG_INFINITY), Err(NEGATIVE));
        assert_eq!(span(f32::NAN), Err("it is not a number"));
        assert_eq!(span(f64::INFINITY), Err(HUGE));
        assert_eq!(span(f64::MAX), Err(HUGE));
        assert_eq!(span(u64::MAX), Err(HUGE));
        assert_eq!(span(Duration::MAX), Err(HUGE));
    }
}
