//! [`IntoDuration`]: durations as options accept them.

mod unit;

use std::time::Duration;

use crate::base::clock;
use crate::base::error::LockError;
use crate::base::target::ACQUIRE;
use crate::base::wait::Limit;

/// A duration: a [`Duration`], or a text with a unit.
///
/// | value | meaning |
/// |---|---|
/// | `Duration::from_millis(250)` | that duration |
/// | `"250ms"`, `"10s"`, `"2m"`, `"1h"`, `"1d"` | a number with a unit (`ms`, `s`, `m` or `min`, `h`, `d`): `&str` and `String` |
/// | a reference to one of these | the same |
///
/// The options of [`Config`](crate::Config) and of handles accept these values. The attributes also accept a number,
/// which counts as seconds (`expire = 100`).
///
/// A text is parsed immediately. If it is invalid or longer than a hundred years, the error is kept until a call can
/// report it: `setup` and `Client::connect` for `Config`, and the call that takes the lock, with
/// [`LockError::InvalidOption`], for a handle.
///
/// The trait is sealed.
///
/// ```
/// use std::time::Duration;
///
/// let client = auto_mutex::Client::connect("memory://")?;
/// let reports = client.mutex("reports").expire("2m").block(Duration::from_millis(500));
/// drop(reports.blocking_lock()?);
/// assert!(client.mutex("reports").block("5 weeks").blocking_lock().is_err());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "a duration is a `Duration` or a text with a unit, not `{Self}`",
    label = "not a duration",
    note = "write `Duration::from_secs(5)` or `\"5s\"`; only the attributes accept a number, which counts as seconds"
)]
pub trait IntoDuration: ToDuration {}

impl IntoDuration for Duration {}
impl IntoDuration for &str {}
impl IntoDuration for String {}
impl<T: IntoDuration + Clone> IntoDuration for &T {}

pub use sealed::ToDuration;

pub const FOREVER: Duration = Duration::MAX;
/// A hold with a shorter `expire` would usually end before its grant arrives.
pub const SHORTEST_EXPIRE: Duration = Duration::from_millis(10);
const NEGATIVE: &str = "it is negative";
const HUGE: &str = "it is more than a hundred years";

/// A measured time with three digits, for messages: `985ms` for 984.814067 ms.
#[must_use]
pub fn rounded(time: Duration) -> Duration {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let digits = nanos.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(2));
    Duration::from_nanos(nanos.saturating_add(unit / 2) / unit * unit)
}

pub type Span = Result<Duration, &'static str>;

/// For an option of `Config`.
pub fn span(value: impl ToDuration) -> Span {
    value.to_duration().and_then(bounded)
}

fn bounded(duration: Duration) -> Span {
    match duration > unit::LONGEST {
        true => Err(HUGE),
        false => Ok(duration),
    }
}

/// For an option of a handle or an attribute, where `Duration::MAX` means no limit.
pub fn length(value: impl ToDuration) -> Span {
    value.to_duration()
}

pub fn argument(option: &'static str, value: impl IntoDuration) -> Result<Duration, LockError> {
    length(value).map_err(|reason| LockError::invalid(option, reason))
}

pub fn refreshed(value: impl IntoDuration) -> Result<Duration, LockError> {
    check_expire("refresh", argument("refresh", value)?)
}

#[inline]
pub fn check_expire(option: &'static str, expire: Duration) -> Result<Duration, LockError> {
    if expire < SHORTEST_EXPIRE {
        let reason = "shorter than 10 ms: it would be over before it could be used";
        return Err(LockError::invalid(option, reason));
    }
    Ok(expire)
}

/// For the option `block` of an attribute. Warns once about a long time without a unit, which the program may have
/// computed in milliseconds.
pub fn doubt_block<T: ToDuration>(block: Duration) {
    static WARNINGS: Limit = Limit::once();
    let seconds = block.as_secs_f64();
    if !T::HAS_UNIT && seconds > unit::LONG && WARNINGS.pass(clock::now()).is_some() {
        let doubt = unit::doubt(seconds);
        tracing::warn!(target: ACQUIRE, "`block`: {doubt} If not, give it a unit or a `Duration`");
    }
}

/// The values that attributes accept, which include numbers of seconds.
mod sealed {
    use std::time::Duration;

    use super::unit;
    use super::{HUGE, NEGATIVE, bounded};

    pub trait ToDuration: Sized {
        const HAS_UNIT: bool = true;

        fn to_duration(self) -> Result<Duration, &'static str>;
    }

    impl ToDuration for Duration {
        fn to_duration(self) -> Result<Duration, &'static str> {
            Ok(self)
        }
    }

    impl ToDuration for &str {
        fn to_duration(self) -> Result<Duration, &'static str> {
            unit::seconds(self)?.to_duration()
        }
    }

    impl<T: ToDuration + Clone> ToDuration for &T {
        const HAS_UNIT: bool = T::HAS_UNIT;

        fn to_duration(self) -> Result<Duration, &'static str> {
            self.clone().to_duration()
        }
    }

    impl ToDuration for String {
        fn to_duration(self) -> Result<Duration, &'static str> {
            self.as_str().to_duration()
        }
    }

    macro_rules! integer {
        ($($integer:ty)*) => {$(
            impl ToDuration for $integer {
                const HAS_UNIT: bool = false;

                fn to_duration(self) -> Result<Duration, &'static str> {
                    let seconds = u64::try_from(self).map_err(|_| NEGATIVE)?;
                    bounded(Duration::from_secs(seconds))
                }
            }
        )*};
    }

    integer!(i8 u8 i16 u16 i32 u32 i64 u64 isize usize);

    impl ToDuration for f64 {
        const HAS_UNIT: bool = false;

        fn to_duration(self) -> Result<Duration, &'static str> {
            if self.is_nan() {
                return Err("it is not a number");
            }
            if self < 0.0 {
                return Err(NEGATIVE);
            }
            Duration::try_from_secs_f64(self)
                .map_err(|_| HUGE)
                .and_then(bounded)
        }
    }

    impl ToDuration for f32 {
        const HAS_UNIT: bool = false;

        fn to_duration(self) -> Result<Duration, &'static str> {
            f64::from(self).to_duration()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_time_has_three_digits() {
        for (nanos, shown) in [
            (0, "0ns"),
            (999, "999ns"),
            (984_814_067, "985ms"),
            (999_999_999, "1s"),
            (1_234_567_890, "1.23s"),
            (133_456_000_000, "133s"),
            (86_400_000_000_000, "86400s"),
        ] {
            let time = rounded(Duration::from_nanos(nanos));
            assert_eq!(format!("{time:?}"), shown);
        }
    }

    #[test]
    fn numbers_are_seconds_texts_have_a_unit_and_durations_are_themselves() {
        let seconds = |seconds| Ok(Duration::from_secs(seconds));
        assert_eq!(span(10), seconds(10));
        assert_eq!(span(10_u8), seconds(10));
        assert_eq!(span(10_u32), seconds(10));
        assert_eq!(span(10_i64), seconds(10));
        assert_eq!(span(10_u64), seconds(10));
        assert_eq!(span(10_usize), seconds(10));
        assert_eq!(span(0.25), Ok(Duration::from_millis(250)));
        assert_eq!(span(0.25_f32), Ok(Duration::from_millis(250)));
        assert_eq!(span(Duration::from_millis(3)), Ok(Duration::from_millis(3)));
        assert_eq!(span(0), Ok(Duration::ZERO));
        assert_eq!(span(-0.0), Ok(Duration::ZERO));
        for (text, millis) in [
            ("250ms", 250),
            ("0.5s", 500),
            (" 2 m ", 120_000),
            ("2min", 120_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            ("0s", 0),
        ] {
            assert_eq!(span(text), Ok(Duration::from_millis(millis)), "{text}");
            let owned = text.to_owned();
            assert_eq!(length(&owned), span(text));
            assert_eq!(length(owned), span(text));
        }
        assert_eq!(length(Duration::MAX), Ok(Duration::MAX));
    }

    #[test]
    fn a_reference_is_what_it_refers_to() {
        fn lent<T: ToDuration + Clone>(value: T) -> (Span, bool) {
            let twice = &&value;
            (span(twice), <&&T>::HAS_UNIT)
        }
        let five = || Ok(Duration::from_secs(5));
        assert_eq!(lent(Duration::from_secs(5)), (five(), true));
        assert_eq!(lent("5s"), (five(), true));
        assert_eq!(lent("5s".to_owned()), (five(), true));
        assert_eq!(lent(5_u8), (five(), false));
        assert_eq!(lent(5.0), (five(), false));
    }

    #[test]
    fn what_is_no_span_of_time_is_refused() {
        assert_eq!(span(-1), Err(NEGATIVE));
        assert_eq!(span(i64::MIN), Err(NEGATIVE));
        assert_eq!(span(-0.1), Err(NEGATIVE));
        assert_eq!(span("-1s"), Err(NEGATIVE));
        assert_eq!(span(f64::NEG_INFINITY), Err(NEGATIVE));
        assert_eq!(span(f32::NAN), Err("it is not a number"));
        assert_eq!(span(f64::INFINITY), Err(HUGE));
        assert_eq!(span(f64::MAX), Err(HUGE));
        assert_eq!(span(u64::MAX), Err(HUGE));
        assert_eq!(span(Duration::MAX), Err(HUGE));
        assert_eq!(length("40000d"), Err(HUGE));
        for text in ["", "soon", "100", "5 weeks", "1.2.3s", "1e3s", "inf"] {
            let reason = length(text).expect_err(text);
            assert!(reason.contains("unit"), "{text}: {reason}");
        }
    }

    #[test]
    fn nobody_can_hold_for_less_than_ten_milliseconds() {
        let shortest = Duration::from_millis(10);
        let short = refreshed(shortest - Duration::from_nanos(1));
        assert!(
            matches!(
                short,
                Err(LockError::InvalidOption {
                    option: "refresh",
                    ..
                })
            ),
            "{short:?}"
        );
        assert_eq!(refreshed(shortest).unwrap(), shortest);
    }

    #[test]
    fn a_doubtful_value_is_said_in_words() {
        assert_eq!(
            unit::doubt(500.0),
            "500 s is 8 minutes: did you mean \"500ms\"?"
        );
        for (seconds, words) in [
            (0.05, "50 milliseconds"),
            (1.0, "1 second"),
            (5000.0, "83 minutes"),
            (7200.0, "2 hours"),
            (86_400.0 * 3.0, "3 days"),
        ] {
            assert_eq!(unit::in_words(seconds), words);
        }
    }
}
