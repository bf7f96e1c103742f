//! Parses times with a unit, such as `"250ms"`, and formats times in words. The macros have a symbolic link to this
//! file (`macros/src/args/unit.rs`), because the two crates cannot share code.

use std::time::Duration;

/// A hundred years: longer than any useful wait, and far from any overflow.
pub(crate) const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// A longer number of seconds without a unit may be meant as milliseconds.
pub(crate) const LONG: f64 = 3600.0;

const UNITS: &[(&str, f64)] = &[
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("d", 86400.0),
];

pub(crate) fn seconds(text: &str) -> Result<f64, &'static str> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-')
        .unwrap_or(text.len());
    let (number, word) = (&text[..split], text[split..].trim());
    let Ok(number) = number.parse::<f64>() else {
        return Err("a time with a unit starts with a number, as in \"250ms\" or \"2m\"");
    };
    if word.is_empty() {
        return Err(
            "a text needs a unit (`ms`, `s`, `m`, `h` or `d`); a number without quotes is seconds",
        );
    }
    let seconds = unit(word).ok_or("unknown unit: use `ms`, `s`, `m`, `h` or `d`")?;
    Ok(number * seconds)
}

pub(crate) fn unit(word: &str) -> Option<f64> {
    let (_, seconds) = UNITS.iter().find(|(known, _)| *known == word)?;
    Some(*seconds)
}

/// Asks whether milliseconds were intended: `500 s is 8 minutes: did you mean "500ms"?`
pub(crate) fn doubt(seconds: f64) -> String {
    let words = in_words(seconds);
    format!("{seconds} s is {words}: did you mean \"{seconds}ms\"?")
}

pub(crate) fn in_words(seconds: f64) -> String {
    let (unit, word) = match seconds {
        _ if seconds < 1.0 => (1e-3, "millisecond"),
        _ if seconds < 120.0 => (1.0, "second"),
        _ if seconds < 7200.0 => (60.0, "minute"),
        _ if seconds < 172_800.0 => (3600.0, "hour"),
        _ => (86_400.0, "day"),
    };
    let count = (seconds / unit).round();
    let plural = if count == 1.0 { "" } else { "s" };
    format!("{count} {word}{plural}")
}
