//! The option names: which exist, how each is written, and what to say of the others.

use proc_macro2::Ident;
use syn::Error;

use crate::suggest;

/// Every option, with an example of it.
const KNOWN: &[(&str, &str)] = &[
    ("expire", "expire = 100"),
    ("block", "block = 10"),
    ("at_least", "at_least = 60"),
    ("retries", "retries = 3"),
    ("interval", "interval = 0.01"),
    ("on_timeout", "on_timeout = Self::busy"),
    ("on_error", "on_error = Self::failed"),
    ("on_lost", "on_lost = finish"),
    ("ns", "ns = \"billing\""),
    ("name", "name = \"close-month\""),
    ("key", "key = \"{id}\""),
    ("guard", "guard = lock"),
    ("client", "client = self.locks"),
    ("crate", "crate = ::my_crate::auto_mutex"),
];

/// The bare word for blocks.
pub(crate) const EXPLICIT: &str = "explicit";

/// Marks what this attribute has dealt with already, so that the compiler still sees the user's path to the
/// attribute as used. Never written by users.
pub(crate) const DONE: &str = "__auto_mutex_done";

/// Words that will mean something, and words that users of other libraries try.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "keys",
        "`keys` is not available yet: name a single lock with `key`",
    ),
    ("was", "`was` is not available yet"),
    (
        "owner",
        "`owner` is not available yet: the owner of a lock is the calling task",
    ),
    (
        "permits",
        "a mutex has a single permit: leave `permits` out",
    ),
    (
        "timeout",
        "say `block = …` for how long to wait, `expire = …` for how long to hold at most",
    ),
    ("wait", "say `block = …` for how long to wait"),
    ("ttl", "say `expire = …` for how long to hold at most"),
    (
        "lease",
        "the lease is set once, by `Config::lease`; `expire = …` is how long to hold at most",
    ),
];

/// How the option is written, if `word` is one.
pub(crate) fn example(word: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, example)| *example)
}

/// What to say of a word that is no option.
pub(crate) fn unknown(word: &Ident) -> Error {
    let text = word.to_string();
    if let Some((_, message)) = ELSEWHERE.iter().find(|(known, _)| *known == text) {
        return Error::new(word.span(), message);
    }
    let names = || KNOWN.iter().map(|(name, _)| *name).chain([EXPLICIT]);
    let hint = match suggest::nearest(&text, names()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!(
            "the options are {}",
            names()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    };
    Error::new(word.span(), format!("unknown option `{text}`: {hint}"))
}
