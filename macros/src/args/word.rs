//! The word before `=`, and errors about words that are not options.

use proc_macro2::{Ident, Span};
use syn::parse::ParseStream;
use syn::{Error, LitFloat, LitInt, LitStr};

use super::elsewhere;
use super::table::TABLE;
use crate::kind::Kind;
use crate::suggest;

/// Marks attributes that were already expanded. They stay on the item, so that the compiler counts the user's import of
/// the attribute as used. Users never write this word.
pub(crate) const DONE: &str = "__auto_mutex_done";

/// An option's word as it was written, perhaps an alias.
pub(super) struct Word {
    pub(super) text: String,
    pub(super) span: Span,
    /// The example of the option, with this word.
    pub(super) example: String,
}

impl Word {
    /// `name` is the word that `example` begins with.
    pub(super) fn of(word: &Ident, name: &str, example: &str) -> Self {
        let text = word.to_string();
        Self {
            example: example.replacen(name, &text, 1),
            span: word.span(),
            text,
        }
    }

    /// The error for a word without a value.
    pub(super) fn needs_value(&self) -> Error {
        let Self {
            text,
            span,
            example,
        } = self;
        Error::new(*span, format!("`{text}` needs a value: write `{example}`"))
    }
}

/// The error for a value or another token in place of an option.
pub(super) fn missing(input: ParseStream) -> &'static str {
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

/// The error for a word that is not an option.
pub(super) fn unknown(word: &Ident, kind: Kind) -> Error {
    let rows = TABLE.iter().filter(|row| row.refused_by(kind).is_none());
    let names: Vec<_> = rows.map(|row| row.name).collect();
    let aliases = TABLE.iter().map(|row| row.alias);
    let aliases: Vec<_> = aliases.filter(|alias| !alias.is_empty()).collect();
    none_of(
        word,
        &names,
        &aliases,
        elsewhere::hint(&word.to_string(), kind),
    )
}

/// The error for a word that is none of the options `names`, and none of their `aliases`.
pub(super) fn none_of(
    word: &Ident,
    names: &[&str],
    aliases: &[&str],
    hint: Option<String>,
) -> Error {
    let text = word.to_string();
    let hint = hint.unwrap_or_else(|| {
        match suggest::nearest(&text, names.iter().chain(aliases).copied()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => {
                let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
                format!("the options are {}", names.join(", "))
            }
        }
    });
    Error::new(word.span(), format!("unknown option `{text}`: {hint}"))
}
