//! [`sites_json`]: lists this program's annotated functions for the command `auto-mutex sites`.

use auto_mutex_core::sites;

/// The list of [`sites`] as JSON:
/// `{"schema_version":1,"sites":[{"name","attribute","options","function","module","file", "line"}]}`. A program can
/// print it, for example for an option `--locks`; the command `auto-mutex sites` reads it.
///
/// ```
/// let json = auto_mutex::operator::sites_json();
/// assert!(json.starts_with(r#"{"schema_version":1,"sites":["#));
/// ```
#[must_use]
pub fn sites_json() -> String {
    let mut json = r#"{"schema_version":1,"sites":["#.to_owned();
    for (index, site) in sites().into_iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let name = site.name();
        let fields = [
            ("name", name.as_str()),
            ("attribute", site.attribute()),
            ("options", site.options()),
            ("function", site.function()),
            ("module", site.module()),
            ("file", site.file()),
        ];
        let fields = fields.map(|(key, value)| format!(r#""{key}":"{}""#, escaped(value)));
        let (fields, line) = (fields.join(","), site.line());
        json.push_str(&format!(r#"{comma}{{{fields},"line":{line}}}"#));
    }
    json.push_str("]}");
    json
}

fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn texts_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nü"), r#"a\"b\\c\u000aü"#);
    }
}
