//! [`sites_json`]: the annotated functions of this program, for the command `auto-mutex sites`.

use std::fmt::Write as _;

use auto_mutex_core::sites;

/// The list of [`sites`] as JSON: `{"schema_version":1,"sites":[{"name","attribute","options","function","module","file",
/// "line"}]}`. A program can write it, for example for an option `--locks`. The command `auto-mutex sites` reads it.
///
/// ```
/// let json = auto_mutex::operator::sites_json();
/// assert!(json.starts_with(r#"{"schema_version":1,"sites":["#));
/// ```
#[must_use]
pub fn sites_json() -> String {
    let mut json = r#"{"schema_version":1,"sites":["#.to_owned();
    for (index, site) in sites().into_iter().enumerate() {
        if index > 0 {
            json.push(',');
        }
        json.push('{');
        for (key, value) in [
            ("name", site.name().as_str()),
            ("attribute", site.attribute()),
            ("options", site.options()),
            ("function", site.function()),
            ("module", site.module()),
            ("file", site.file()),
        ] {
            string(&mut json, key);
            json.push(':');
            string(&mut json, value);
            json.push(',');
        }
        // Writing to a String cannot fail.
        let _ = write!(json, r#""line":{}}}"#, site.line());
    }
    json.push_str("]}");
    json
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::string;

    #[test]
    fn texts_are_escaped() {
        let mut out = String::new();
        string(&mut out, "a\"b\\c\nü");
        assert_eq!(out, r#""a\"b\\c\u000aü""#);
    }
}
