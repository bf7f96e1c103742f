//! Lengths of time and counts: `100`, `0.5`, `"250ms"`, `"2m"`, or an expression.

use std::ops::RangeInclusive;
use std::time::Duration;

use syn::{Error, Expr, ExprLit, ExprUnary, Lit, Result, UnOp};

use crate::tokens::bare_expr;

/// A length of time.
#[derive(Clone)]
pub(crate) enum Length {
    Known(Duration),
    /// An expression of type `Duration`.
    Given(Expr),
}

/// A count.
#[derive(Clone)]
pub(crate) enum Count {
    Known(u32),
    /// An expression of type `u32`.
    Given(Expr),
}

/// The shortest time that an option accepts. The resolution of a store is a millisecond.
#[derive(Clone, Copy)]
pub(crate) enum Least {
    /// Zero is allowed: it means not to wait.
    Zero,
    Milliseconds(u32),
}

/// The longest time that a store accepts: a century, which no clock overflows with.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

const UNITS: &[(&str, f64)] = &[
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
];

const FORMS: &str = "seconds (`100`, `0.5`), a text with a unit (\"250ms\", \"2m\"), or an expression of type `Duration`";

impl Length {
    pub(crate) fn parse(option: &str, least: Least, value: Expr) -> Result<Self> {
        let wrong = |message: String| Err(Error::new_spanned(&value, message));
        let seconds = match bare_expr(&value) {
            Expr::Lit(ExprLit { lit, .. }) => literal(option, lit)?,
            Expr::Unary(ExprUnary {
                op: UnOp::Neg(_),
                expr,
                ..
            }) if matches!(bare_expr(expr), Expr::Lit(_)) => -1.0,
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
            Ok(length) if length <= LONGEST => Ok(Self::Known(length)),
            _ => wrong(format!(
                "`{option}` is longer than a century: give at most {} seconds",
                LONGEST.as_secs()
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
            Expr::Unary(ExprUnary {
                op: UnOp::Neg(_),
                expr,
                ..
            }) if matches!(bare_expr(expr), Expr::Lit(_)) => {
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

/// The seconds that a literal stands for.
fn literal(option: &str, lit: &Lit) -> Result<f64> {
    let wrong = |message: String| Error::new(lit.span(), message);
    let (digits, suffix) = match lit {
        Lit::Int(int) => (int.base10_digits(), int.suffix()),
        Lit::Float(float) => (float.base10_digits(), float.suffix()),
        Lit::Str(text) => return with_unit(&text.value()).map_err(wrong),
        _ => return Err(wrong(format!("`{option}` takes {FORMS}"))),
    };
    if !suffix.is_empty() {
        return Err(wrong(if unit(suffix).is_some() {
            format!("put a time with a unit in quotes: \"{digits}{suffix}\"")
        } else {
            format!("write the seconds without `{suffix}`: `{digits}`")
        }));
    }
    digits
        .parse()
        .map_err(|_| wrong(format!("`{option}` takes {FORMS}")))
}

fn with_unit(text: &str) -> std::result::Result<f64, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-')
        .unwrap_or(text.len());
    let (number, word) = (&text[..split], text[split..].trim());
    let number: f64 = number.parse().map_err(|_| {
        "a time with a unit starts with a number, as in \"250ms\" or \"2m\"".to_owned()
    })?;
    let units = "`ms`, `s`, `m`, `h` or `d`";
    if word.is_empty() {
        return Err(format!(
            "add a unit to `{text}` ({units}), or write the seconds without quotes"
        ));
    }
    match unit(word) {
        Some(seconds) => Ok(number * seconds),
        None => Err(format!("unknown unit `{word}`: use {units}")),
    }
}

/// The length of a unit in seconds.
fn unit(word: &str) -> Option<f64> {
    let (_, seconds) = UNITS.iter().find(|(known, _)| *known == word)?;
    Some(*seconds)
}
