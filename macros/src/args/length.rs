//! Durations and counts: `100`, `0.5`, `"250ms"`, `"2m"`, or an expression.

use std::ops::RangeInclusive;
use std::time::Duration;

use syn::{Error, Expr, ExprLit, ExprUnary, Lit, Result, UnOp};

use super::unit;
use crate::tokens::bare_expr;

/// A duration.
#[derive(Clone)]
pub(crate) enum Length {
    Known(Duration),
    /// An expression: a `Duration`, seconds, or a text with a unit.
    Given(Expr),
}

/// A count.
#[derive(Clone)]
pub(crate) enum Count {
    Known(u32),
    /// An expression of type `u32`.
    Given(Expr),
}

/// The shortest duration that an option accepts. The unit is the millisecond, as in stores.
#[derive(Clone, Copy)]
pub(crate) enum Least {
    /// Zero, so that a call does not wait. Any other duration must be at least one millisecond.
    Zero,
    Milliseconds(u32),
}

const FORMS: &str = "seconds (`100`, `0.5`), a text with a unit (\"250ms\", \"2m\"), or an expression: a number, a `Duration` or a text";

impl Length {
    pub(crate) fn parse(option: &str, least: Least, value: Expr) -> Result<Self> {
        let wrong = |message: String| Err(Error::new_spanned(&value, message));
        let seconds = match bare_expr(&value) {
            Expr::Lit(ExprLit { lit, .. }) => literal(option, lit)?,
            value if is_negative(value) => -1.0,
            _ => return Ok(Self::Given(value)),
        };
        let give = match least {
            Least::Zero => "give 0 (do not wait) or more".to_owned(),
            Least::Milliseconds(least) => format!("give at least \"{least}ms\""),
        };
        let shortest = match least {
            Least::Zero if seconds == 0.0 => Duration::ZERO,
            Least::Zero => Duration::from_millis(1),
            Least::Milliseconds(least) => Duration::from_millis(least.into()),
        };
        if seconds < 0.0 {
            return wrong(format!("`{option}` cannot be negative: {give}"));
        }
        match Duration::try_from_secs_f64(seconds) {
            Ok(length) if length < shortest && length.is_zero() => {
                wrong(format!("`{option}` cannot be zero: {give}"))
            }
            Ok(length) if length < shortest => wrong(format!(
                "`{option}` is too short: give at least \"{}ms\"",
                shortest.as_millis()
            )),
            Ok(_) if option == "block" && seconds > unit::LONG && is_number(&value) => {
                wrong(format!(
                    "`block`: {} If not, say the unit: \"{seconds}s\"",
                    unit::doubt(seconds)
                ))
            }
            Ok(length) if length <= unit::LONGEST => Ok(Self::Known(length)),
            _ => wrong(format!(
                "`{option}` is longer than a century: give at most {} seconds",
                unit::LONGEST.as_secs()
            )),
        }
    }
}

impl Count {
    pub(crate) fn parse(option: &str, range: RangeInclusive<u32>, value: Expr) -> Result<Self> {
        let message = match bare_expr(&value) {
            Expr::Lit(ExprLit {
                lit: Lit::Int(int), ..
            }) => match int.base10_parse() {
                Ok(count) if range.contains(&count) => return Ok(Self::Known(count)),
                Ok(0) => format!("`{option}` cannot be zero: give {} or more", range.start()),
                _ => format!("`{option}` is too large: give at most {}", range.end()),
            },
            Expr::Lit(_) => format!(
                "`{option}` takes a whole number, as in `{option} = 3`, or an expression of type `u32`"
            ),
            value if is_negative(value) => {
                format!(
                    "`{option}` cannot be negative: give {} or more",
                    range.start()
                )
            }
            _ => return Ok(Self::Given(value)),
        };
        Err(Error::new_spanned(&value, message))
    }
}

/// Whether the value is a literal with a `-`.
fn is_negative(value: &Expr) -> bool {
    matches!(value, Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) if matches!(bare_expr(expr), Expr::Lit(_)))
}

/// Whether the value is a literal without a unit.
fn is_number(value: &Expr) -> bool {
    matches!(bare_expr(value), Expr::Lit(ExprLit { lit, .. }) if !matches!(lit, Lit::Str(_)))
}

/// The number of seconds in a literal.
fn literal(option: &str, lit: &Lit) -> Result<f64> {
    let wrong = |message: String| Error::new(lit.span(), message);
    let (digits, suffix) = match lit {
        Lit::Int(int) => (int.base10_digits(), int.suffix()),
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        Lit::Str(text) => {
            return unit::seconds(&text.value()).map_err(|message| wrong(message.to_owned()));
        }
        _ => return Err(wrong(format!("`{option}` takes {FORMS}"))),
    };
    if !suffix.is_empty() {
        return Err(wrong(if unit::unit(suffix).is_some() {
            format!("put a time with a unit in quotes: \"{digits}{suffix}\"")
        } else {
            format!("write the seconds without `{suffix}`: `{digits}`")
        }));
    }
    digits
        .parse()
        .map_err(|_| wrong(format!("`{option}` takes {FORMS}")))
}
