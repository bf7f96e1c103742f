//! Errors about words that are not options: among them those of redlock, Redisson, ShedLock and tokio, with the options
//! of this library that replace them.

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Error, Lit, LitStr};

use super::table::{TABLE, row};
use crate::kind::Kind;
use crate::suggest;

/// Marks attributes that were already expanded. They stay on the item, so that the compiler counts the user's import of
/// the attribute as used. Users never write this word.
pub(crate) const DONE: &str = "__auto_mutex_done";

/// The error for a value or another token in place of an option.
pub(super) fn missing(input: ParseStream, kind: Kind) -> &'static str {
    match kind {
        Kind::Test => "expected an option, as in `seeds = 100`",
        _ if input.peek(LitStr) => {
            "say what the text is: `name = \"…\"` for the lock's name, `key = \"{id}\"` for a lock per value"
        }
        Kind::Leader if input.peek(Lit) => {
            "say what the number is: `stop_within = …` for how long the body may take to end, `progress = …` for how long it may be silent"
        }
        _ if input.peek(Lit) => {
            "say what the number is: `expire = …` for how long to hold at most, `block = …` for how long to wait"
        }
        Kind::Leader => "expected an option, as in `stop_within = 5`",
        _ => "expected an option, as in `expire = 100`",
    }
}

/// The error for a word that is not an option.
pub(super) fn unknown(word: &Ident, kind: Kind) -> Error {
    let text = word.to_string();
    let rows = TABLE.iter().filter(|row| (row.is_of)(kind));
    let known = rows.clone().flat_map(|row| [row.name, row.alias]);
    let names = rows.filter(|row| row.refused_by(kind).is_none());
    let names: Vec<&str> = names.map(|row| row.name).collect();
    let nearest = suggest::nearest(&text, known);
    let hint = hint(&text, kind)
        .or(nearest.map(|name| format!("did you mean `{name}`?")))
        .unwrap_or_else(|| format!("the options are `{}`", names.join("`, `")));
    Error::new(word.span(), format!("unknown option `{text}`: {hint}"))
}

/// Words in lower case and without underscores, the option that means the same, and what it does. The likelier option
/// comes first.
const WORDS: &[(&str, &str, &str)] = &[
    (
        "timeout wait waittime waittimeout",
        "block",
        "how long to wait",
    ),
    (
        "timeout ttl duration leasetime lockatmostfor",
        "expire",
        "how long to hold at most",
    ),
    ("keep", "retain", "how long to keep a released lock"),
    ("stop", "stop_within", "how long to take to end"),
    ("runs", "seeds", "how often to run the test"),
    ("lockatleastfor", "at_least", "how long to hold at least"),
    (
        "retry retrycount",
        "retries",
        "how often to ask again, without a place in the queue",
    ),
    ("retrydelay", "interval", "the time between `retries`"),
    ("resource", "key", "a lock per value"),
    ("resource", "name", "the lock's name"),
    ("prefix", "ns", "the first part of the name"),
];

/// Words without a matching option, and the hint for each of them. What follows a semicolon is not said to a leader.
const NOWHERE: &[(&str, &str)] = &[
    (
        "lease",
        "the lease is set once, by `Config::lease`: leave it out; `expire = 100` is how long to hold at most",
    ),
    (
        "renew autorenew extend watchdog",
        "a held lock is always renewed in the background: leave it out; `expire = 100` is how long to hold at most",
    ),
    (
        "fair",
        "waiting calls get the lock in order of arrival: leave it out",
    ),
];

/// Words of `#[tokio::test]`.
const TESTS: &[(&str, &str)] = &[
    (
        "startpaused",
        "the clock of a test is always virtual: leave it out",
    ),
    (
        "flavor workerthreads",
        "a test has one thread: leave it out",
    ),
];

/// A hint for `word`: the option to write instead, or why there is none. `None` if the word is unknown.
fn hint(word: &str, kind: Kind) -> Option<String> {
    let plain = word.replace('_', "").to_lowercase();
    let is_in = |words: &str| words.split(' ').any(|known| known == plain);
    let nowhere = if kind == Kind::Test { TESTS } else { NOWHERE };
    if let Some((_, why)) = nowhere.iter().find(|(words, _)| is_in(words)) {
        let of_locks = kind != Kind::Leader;
        let said = if of_locks {
            why
        } else {
            why.split(';').next()?
        };
        return Some(said.to_owned());
    }
    let meant = WORDS.iter().filter(|(words, ..)| is_in(words));
    let meant = meant
        .filter_map(|(_, option, meaning)| Some((row(option, |row| (row.is_of)(kind))?, meaning)));
    let meant: Vec<_> = meant.filter(|(row, _)| (row.is_of)(kind)).collect();
    let usable = meant
        .iter()
        .filter(|(row, _)| row.refused_by(kind).is_none());
    let usable = usable.map(|(row, meaning)| format!("`{}`, {meaning}", row.example));
    let usable: Vec<_> = usable.collect();
    let (first, _) = meant.first()?;
    match first.refused_by(kind) {
        Some(why) if usable.is_empty() => Some(why.replace("{}", word)),
        _ => Some(format!("did you mean {}?", usable.join(", or "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_can_be_found_and_means_an_option_that_exists() {
        let meant = WORDS.iter().map(|(words, option, _)| {
            assert!(row(option, |_| true).is_some(), "{option} is no option");
            words
        });
        let others = NOWHERE.iter().chain(TESTS).map(|(words, _)| words);
        for word in meant.chain(others).flat_map(|words| words.split(' ')) {
            assert!(row(word, |_| true).is_none(), "{word} is an option");
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
