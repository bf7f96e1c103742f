//! The names of options, an example of each, and the errors for other words.

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Error, LitFloat, LitInt, LitStr};

use super::elsewhere;
use crate::kind::Kind;
use crate::suggest;

/// Every option with an example. [`misplaced`] decides which attributes accept an option.
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
    ("keys", "keys = [from, to]"),
    ("was", "was = \"{namespace}:Ledger:close\""),
    ("owner", "owner = session.id"),
    ("order", "order = \"accounts before ledger\""),
    ("reentrant", "reentrant = false"),
    ("permits", "permits = 5"),
    ("guard", "guard = lock"),
    ("client", "client = self.locks"),
    ("crate", "crate = ::my_crate::auto_mutex"),
];

/// The option `explicit`, which has no value and is for blocks only.
pub(crate) const EXPLICIT: &str = "explicit";

/// Marks attributes that were already expanded. They stay on the item, so that the compiler counts the user's import
/// of the attribute as used. Users never write this word.
pub(crate) const DONE: &str = "__auto_mutex_done";

/// Pairs of an alias and the option's name in this crate.
const ALIASES: &[(&str, &str)] = &[("namespace", "ns")];

/// The option that `word` names, directly or as an alias.
pub(crate) fn option(word: &str) -> &str {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == word);
    alias.map_or(word, |(_, option)| option)
}

/// An example of the option `word`; `None` if there is no such option.
pub(crate) fn example(word: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .find(|(known, _)| *known == word)
        .map(|(_, example)| *example)
}

/// The error for a value or another token in the place of an option.
pub(crate) fn missing(input: ParseStream) -> &'static str {
    let number = input.peek(LitInt) || input.peek(LitFloat);
    match input.peek(LitStr) {
        true => {
            "say what the text is: `name = \"…\"` for the lock's name, `key = \"{id}\"` for a lock per value"
        }
        false if number => {
            "say what the number is: `expire = …` for how long to hold at most, `block = …` for how long to wait"
        }
        false => "expected an option, as in `expire = 100`",
    }
}

/// The error for an option that this attribute does not accept; `None` if the attribute accepts it.
pub(crate) fn misplaced(word: &str, kind: Kind) -> Option<&'static str> {
    Some(match (word, kind) {
        ("permits", Kind::Mutex) => {
            "a mutex has a single permit: leave `permits` out, or use `#[auto_semaphore(permits = 5)]`"
        }
        ("permits", Kind::Read | Kind::Write) => {
            "a readers-writer lock does not count permits: leave `permits` out, or use `#[auto_semaphore(permits = 5)]`"
        }
        ("keys", Kind::Semaphore | Kind::Read | Kind::Write) => {
            "`keys` takes several mutexes at once, so it is for `#[auto_mutex]`: name a single lock with `key`"
        }
        ("was", Kind::Semaphore | Kind::Read | Kind::Write) => {
            "`was` also takes the mutex of an old name, so it is for `#[auto_mutex]`: to keep the old name, write `name = \"…\"`"
        }
        ("owner", Kind::Semaphore | Kind::Read | Kind::Write) => {
            "only a mutex has an owner, so `owner` is for `#[auto_mutex]`: leave it out"
        }
        _ => return None,
    })
}

/// The error for a word that is not an option.
pub(crate) fn unknown(word: &Ident, kind: Kind) -> Error {
    let text = word.to_string();
    let names = || {
        let names = KNOWN.iter().map(|(name, _)| *name).chain([EXPLICIT]);
        names.filter(|name| misplaced(name, kind).is_none())
    };
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let hint = if let Some(hint) = elsewhere::hint(&text, kind) {
        hint
    } else if let Some(name) = suggest::nearest(&text, names().chain(aliases)) {
        format!("did you mean `{name}`?")
    } else {
        let names: Vec<_> = names().map(|name| format!("`{name}`")).collect();
        format!("the options are {}", names.join(", "))
    };
    Error::new(word.span(), format!("unknown option `{text}`: {hint}"))
}
