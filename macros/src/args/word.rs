//! Errors about words that are not options.

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Error, Lit, LitStr};

use super::elsewhere;
use super::table::TABLE;
use crate::kind::Kind;
use crate::suggest;

/// Marks attributes that were already expanded. They stay on the item, so that the compiler counts the user's import of
/// the attribute as used. Users never write this word.
pub(crate) const DONE: &str = "__auto_mutex_done";

/// The error for a value or another token in place of an option.
pub(super) fn missing(input: ParseStream, kind: Kind) -> &'static str {
    if kind == Kind::Test {
        "expected an option, as in `seeds = 100`"
    } else if input.peek(LitStr) {
        "say what the text is: `name = \"…\"` for the lock's name, `key = \"{id}\"` for a lock per value"
    } else if input.peek(Lit) {
        "say what the number is: `expire = …` for how long to hold at most, `block = …` for how long to wait"
    } else {
        "expected an option, as in `expire = 100`"
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
    let hint = elsewhere::hint(&text, kind)
        .or(nearest.map(|name| format!("did you mean `{name}`?")))
        .unwrap_or_else(|| format!("the options are `{}`", names.join("`, `")));
    Error::new(word.span(), format!("unknown option `{text}`: {hint}"))
}
