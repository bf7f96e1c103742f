//! Words from other libraries, and the options of this library that replace them. Most of these words are in the table
//! of options.

use super::table::{TABLE, row};
use crate::kind::Kind;

/// Words that may mean one of several options, in lower case and without underscores, each with the likeliest option
/// first.
const AMBIGUOUS: &[(&str, &[&str])] = &[
    ("timeout", &["block", "expire"]),
    (
        "retry retrytimes backoff retrystrategy",
        &["retries", "block"],
    ),
    ("id resource lock lockname mutex", &["key", "name"]),
];

/// Words without a matching option, and the hint for each of them.
const NOWHERE: &[(&str, &str)] = &[
    (
        "lease leasems",
        "the lease is set once, by `Config::lease`; `expire = …` is how long to hold at most",
    ),
    (
        "renew autorenew renewal extend autoextend refresh autorefresh watchdog heartbeat keepalive",
        "a held lock is always renewed in the background: leave it out; `expire = …` is how long to hold at most",
    ),
    (
        "fair fairness queue",
        "waiting calls get the lock in order of arrival: leave it out",
    ),
    (
        "scope",
        "`client = …` takes another client, `key = …` makes a lock per value",
    ),
];

/// A hint for `word`: the option to write instead, or why there is none. `None` if the word is unknown.
pub(super) fn hint(word: &str, kind: Kind) -> Option<String> {
    let plain = word.replace('_', "").to_lowercase();
    let is_in = |words: &str| words.split(' ').any(|known| known == plain);
    if let Some((_, why)) = NOWHERE.iter().find(|(words, _)| is_in(words)) {
        return Some((*why).to_owned());
    }
    if let Some(meant) = TABLE.iter().find(|row| is_in(row.elsewhere)) {
        return Some(match meant.refused_by(kind) {
            Some(why) => format!("that is `{}` here, but {why}", meant.name),
            None => format!("did you mean `{}`, {}?", meant.example, meant.meaning),
        });
    }
    let (_, options) = AMBIGUOUS.iter().find(|(words, _)| is_in(words))?;
    let options = options.iter().filter_map(|option| row(option));
    let options = options.map(|row| format!("`{}`, {}", row.example, row.meaning));
    let options: Vec<_> = options.collect();
    Some(format!("did you mean {}?", options.join(", or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_is_there_once_and_means_an_option_that_exists() {
        let meant = AMBIGUOUS.iter().flat_map(|(_, options)| *options);
        let meant = meant.map(|option| row(option).expect("an option"));
        let in_table = TABLE.iter().filter(|row| !row.elsewhere.is_empty());
        for row in meant.chain(in_table) {
            assert!(!row.meaning.is_empty(), "{} has no meaning", row.name);
        }
        let words = AMBIGUOUS.iter().map(|(words, _)| *words);
        let words = words.chain(NOWHERE.iter().map(|(words, _)| *words));
        let words = words.chain(TABLE.iter().map(|row| row.elsewhere));
        let words = words.filter(|words| !words.is_empty());
        let words: Vec<&str> = words.flat_map(|words| words.split(' ')).collect();
        for (i, word) in words.iter().enumerate() {
            assert!(!words[..i].contains(word), "{word} is there twice");
            assert!(row(word).is_none(), "{word} is an option");
            let is_plain = word.chars().all(|c| c.is_ascii_lowercase());
            assert!(is_plain && !word.is_empty(), "{word:?} is never found");
        }
    }

    #[test]
    fn a_word_is_known_however_it_is_spelled() {
        for word in ["lock_at_most_for", "lockAtMostFor", "LOCK_AT_MOST_FOR"] {
            assert_eq!(
                hint(word, Kind::Mutex).as_deref(),
                Some("did you mean `expire = 100`, how long to hold at most?")
            );
        }
        assert_eq!(hint("expire", Kind::Mutex), None);
    }
}
