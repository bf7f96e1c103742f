//! Formats numbers for people.

/// Shows three significant digits; thousands as k, millions as M.
pub(crate) fn show(value: f64) -> String {
    let size = value.abs();
    if size >= 1e6 {
        format!("{:.2}M", value / 1e6)
    } else if size >= 1e4 {
        format!("{:.1}k", value / 1e3)
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 0.1 {
        format!("{value:.2}")
    } else if size >= 0.0005 {
        format!("{value:.4}")
    } else {
        "0".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::show;

    #[test]
    fn numbers_have_three_digits_that_count() {
        let shown = [1_234_567.0, 12_345.6, 123.4, 12.34, 1.234, 0.0123, 0.0].map(show);
        assert_eq!(
            shown,
            ["1.23M", "12.3k", "123", "12.3", "1.23", "0.0123", "0"]
        );
    }
}
