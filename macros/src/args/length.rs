//! Durations and counts: `100`, `0.5`, `"250ms"`, `"2m"`, or an expression.

use std::ops::RangeInclusive;
use std::time::Duration;

use proc_macro2::Ident;
use syn::{Error, Expr, ExprLit, ExprUnary, Lit, Result, UnOp};

use super::{Given, unit};
use crate::tokens::bare_expr;

/// A duration or a count.
#[derive(Clone)]
pub(crate) enum Amount<T> {
    Known(T),
    Computed(Expr),
}

/// A duration. An expression for it is a `Duration`, a number of seconds, or a text with a unit.
pub(crate) type Length = Amount<Duration>;

/// A count. An expression for it has the type `u32`.
pub(crate) type Count = Amount<u32>;

/// Half of the longest lease, in seconds.
const LONGEST_STOP: f64 = 15.0;

impl Length {
    /// `least` is in milliseconds, the unit of stores. If it is zero, other lengths must still be a millisecond or
    /// more.
    pub(crate) fn parse(given: &Given, least: u32, value: Expr) -> Result<Self> {
        let option = &given.word;
        let wrong = |message: String| Err(Error::new_spanned(&value, message));
        let seconds = match bare_expr(&value) {
            Expr::Lit(ExprLit { lit, .. }) => literal(option, lit)?,
            value if is_negative(value) => -1.0,
            _ => return Ok(Self::Computed(value)),
        };
        let shortest = Duration::from_millis(least.max(1).into());
        let or_zero = if least == 0 { ", or 0" } else { "" };
        if seconds < shortest.as_secs_f64() && (seconds != 0.0 || least > 0) {
            let shortest = shortest.as_millis();
            return wrong(format!(
                "`{option}` cannot be that short: give at least \"{shortest}ms\"{or_zero}"
            ));
        }
        let length = Duration::try_from_secs_f64(seconds).ok();
        let Some(length) = length.filter(|length| *length <= unit::LONGEST) else {
            return wrong(format!(
                "`{option}` is longer than a century: give at most {} seconds",
                unit::LONGEST.as_secs()
            ));
        };
        if option == "stop_within" && seconds > LONGEST_STOP {
            return wrong(format!(
                "`{option}` is at most half of the lease, which is never longer than 30 seconds: give at most \"{LONGEST_STOP}s\""
            ));
        }
        if option == "block" && seconds > unit::LONG && is_number(&value) {
            let doubt = unit::doubt(seconds);
            return wrong(format!(
                "`block`: {doubt} If not, say the unit: \"{seconds}s\""
            ));
        }
        Ok(Self::Known(length))
    }
}

impl Count {
    pub(crate) fn parse(given: &Given, range: RangeInclusive<u32>, value: Expr) -> Result<Self> {
        let (option, least, most) = (&given.word, range.start(), range.end());
        let message = match bare_expr(&value) {
            Expr::Lit(ExprLit {
                lit: Lit::Int(int), ..
            }) => match int.base10_parse() {
                Ok(count) if range.contains(&count) => return Ok(Self::Known(count)),
                _ => format!("`{option}` is a number from {least} to {most}"),
            },
            value if is_negative(value) => {
                format!("`{option}` is a number from {least} to {most}")
            }
            Expr::Lit(_) => format!(
                "`{option}` takes a whole number, as in `{option} = 3`, or an expression of type `u32`"
            ),
            _ => return Ok(Self::Computed(value)),
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
fn literal(option: &Ident, lit: &Lit) -> Result<f64> {
    let wrong = |message: String| Error::new(lit.span(), message);
    let (digits, suffix) = match lit {
        Lit::Int(int) => (int.base10_digits(), int.suffix()),
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        Lit::Str(text) => {
            return unit::seconds(&text.value()).map_err(|message| wrong(message.to_owned()));
        }
        _ => ("", ""),
    };
    if unit::unit(suffix).is_some() {
        return Err(wrong(format!(
            "put a time with a unit in quotes: \"{digits}{suffix}\""
        )));
    }
    if !suffix.is_empty() {
        return Err(wrong(format!(
            "write the seconds without `{suffix}`: `{digits}`"
        )));
    }
    digits.parse().map_err(|_| {
        wrong(format!(
            "`{option}` takes seconds (`100`, `0.5`), a text with a unit (\"250ms\", \"2m\"), \
             or an expression: a number, a `Duration` or a text"
        ))
    })
}
