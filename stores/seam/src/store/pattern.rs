//! [`matches`]: patterns of names.

/// Whether `text` matches `pattern`, as for Redis' SCAN: `*`, `?`, `[a-z]`, `[^a]`, and `\` to escape one of these.
pub fn matches(pattern: &str, text: &str) -> bool {
    bytes_match(pattern.as_bytes(), text.as_bytes())
}

fn bytes_match<'a>(mut pattern: &'a [u8], mut text: &'a [u8]) -> bool {
    // The pattern after the last star, and the text after the part that the star matches.
    let mut retry: Option<(&'a [u8], &'a [u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            (pattern, retry) = (rest, Some((rest, text)));
        } else if pattern.is_empty() && text.is_empty() {
            return true;
        } else if let Some(rest) = one(pattern, text) {
            (pattern, text) = rest;
        } else if let Some((after, [_, rest @ ..])) = retry {
            (pattern, text, retry) = (after, rest, Some((after, rest)));
        } else {
            return false;
        }
    }
}

fn one<'a>(pattern: &'a [u8], text: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (found, text) = text.split_first()?;
    let (is_match, rest) = match pattern {
        [] => return None,
        [b'?', rest @ ..] => (true, rest),
        [b'[', rest @ ..] => class(rest, *found),
        [b'\\', escaped, rest @ ..] => (escaped == found, rest),
        [first, rest @ ..] => (first == found, rest),
    };
    is_match.then_some((rest, text))
}

/// `pattern` begins after the opening bracket.
fn class(pattern: &[u8], found: u8) -> (bool, &[u8]) {
    let (is_negated, mut rest) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut has = false;
    loop {
        let (one, other, after) = match rest {
            [] => break,
            [b']', after @ ..] => {
                rest = after;
                break;
            }
            [b'\\', escaped, after @ ..] => (escaped, escaped, after),
            [first, b'-', last, after @ ..] => (first, last, after),
            [plain, after @ ..] => (plain, plain, after),
        };
        has |= (*one.min(other)..=*one.max(other)).contains(&found);
        rest = after;
    }
    (has != is_negated, rest)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_mean_what_they_mean_on_a_server() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("*", "", true),
            ("*", "a:b", true),
            ("a*", "abc", true),
            ("a*c", "abcbc", true),
            ("a*c", "abcb", false),
            ("*b*", "abc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("a[bc]", "ac", true),
            ("a[^bc]", "ac", false),
            ("a[a-z]c", "abc", true),
            ("a[z-a]c", "abc", true),
            ("a[]]", "a]", false),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("a[\\]]", "a]", true),
            ("a[b", "ab", true),
            ("a", "ab", false),
        ] {
            let found = matches(pattern, text);
            assert_eq!(found, expected, "{pattern} {text}");
        }
    }
}
