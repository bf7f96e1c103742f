//! The options between the parentheses of an attribute.
//!
//! `table` has a row for each option. Options are parsed one by one, so that an error in one does not hide the next.
//! This module also reports conflicts between options; `expand` checks whether an option suits the function.

mod escape;
mod handler;
mod key;
mod keys;
mod length;
mod read;
mod row;
mod table;
mod template;
mod unit;
mod was;
mod word;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Error, Meta, Result};

use crate::errors::Errors;
use crate::params::Params;

pub(crate) use handler::{Handler, is_awaited};
pub(crate) use key::Part;
pub(crate) use keys::{Key, Keys, is_place};
pub(crate) use length::{Count, Length};
pub(crate) use row::Shape;
pub(crate) use table::Options;
pub(crate) use was::Was;
pub(crate) use word::DONE;

use row::Row;
use table::TABLE;

/// An option as it was written.
#[derive(Clone)]
pub(crate) struct Given {
    row: &'static Row,
    /// The word for the option as the user wrote it, perhaps an alias.
    word: Ident,
    text: String,
    /// Whether the option is one of the block.
    inherited: bool,
}

impl Given {
    /// Input:  `needs a value`
    /// Output: "`expire` needs a value: write `expire = 100`", with the word that the user wrote
    fn error(&self, place: impl ToTokens, what: &str) -> Error {
        let word = self.word.to_string();
        let example = self.row.example.replacen(self.row.name, &word, 1);
        Error::new_spanned(place, format!("`{word}` {what}: write `{example}`"))
    }
}

impl Options {
    /// Returns these options, with the options of the block as defaults.
    pub(crate) fn over(mut self, block: &Self) -> Self {
        for given in &block.given {
            if self.inherits(given.row, block) {
                (given.row.inherit)(&mut self, block);
                self.given.push(Given {
                    inherited: true,
                    ..given.clone()
                });
            }
        }
        self
    }

    /// Whether the block's option applies to a function with these options. The function's choice replaces whatever
    /// contradicts it, and whatever is meaningless without something that it has replaced.
    fn inherits(&self, row: &Row, block: &Self) -> bool {
        let own = || self.given.iter().filter(|given| !given.inherited);
        let replaced = |row: &Row| {
            own().any(|given| {
                given.row.replaces(row.name, self) || row.replaces(given.row.name, block)
            })
        };
        let needed = row
            .needs
            .and_then(|(needed, _)| table::row(needed, |_| true));
        let is_default = row.of_blocks.is_none() && (row.is_default)(self.kind, block.kind);
        is_default
            && row.refused_by(self.kind).is_none()
            && own().all(|given| given.row.name != row.name)
            && !replaced(row)
            && !needed.is_some_and(replaced)
    }

    /// Reports conflicts between options, and missing parameters.
    pub(crate) fn check(&self, params: &Params, errors: &mut Errors) {
        let is_given = |option| self.given(option).is_some();
        for row in TABLE {
            let Some(given) = self.given(row.name) else {
                if let Some((kind, why)) = row.required
                    && kind == self.kind
                {
                    errors.at(self.span, why);
                }
                continue;
            };
            let clashes = row.clashes.iter().filter(|_| (row.clashes_if)(self));
            let across = row.clashes_across.iter();
            let clash = clashes.chain(across).find(|(other, _)| is_given(other));
            let missing = row.needs.as_ref().filter(|(needed, _)| !is_given(needed));
            let wrong = clash.or(missing).map(|(_, why)| *why).or(row.of_blocks);
            if let Some(why) = wrong {
                errors.at(given.word.span(), why);
            }
            for place in (row.parts)(self).into_iter().filter_map(Part::place) {
                place.check(row.name, given.inherited, self.kind, params, errors);
            }
        }
    }

    /// `on_timeout` and `on_error`, if they are given.
    pub(crate) fn handlers(&self) -> impl Iterator<Item = (&'static str, &Handler)> {
        let both = [
            ("on_timeout", &self.on_timeout),
            ("on_error", &self.on_error),
        ];
        both.into_iter()
            .filter_map(|(option, handler)| Some((option, handler.as_ref()?)))
    }

    pub(crate) fn handlers_mut(&mut self) -> impl Iterator<Item = &mut Handler> {
        [&mut self.on_timeout, &mut self.on_error]
            .into_iter()
            .flatten()
    }

    /// Whether the call takes several locks.
    pub(crate) fn takes_several(&self) -> bool {
        self.keys.is_some() || self.was.is_some()
    }

    /// The rows of the given options, in the order of the table.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &'static Row> {
        let mut rows: Vec<&'static Row> = self.given.iter().map(|given| given.row).collect();
        rows.sort_by_key(|row| std::ptr::from_ref(*row).addr());
        rows.into_iter()
    }

    fn given(&self, option: &str) -> Option<&Given> {
        self.given.iter().find(|given| given.row.name == option)
    }

    /// Whether the option is one of the block.
    pub(crate) fn is_inherited(&self, option: &str) -> bool {
        self.given(option).is_some_and(|given| given.inherited)
    }

    /// The options as written, except `crate`.
    pub(crate) fn text(&self) -> String {
        let given = self.given.iter().filter(|given| given.row.name != "crate");
        let texts: Vec<&str> = given.map(|given| given.text.as_str()).collect();
        texts.join(", ")
    }
}

/// The tokens between the parentheses of an attribute.
pub(crate) fn arguments(attribute: &Attribute) -> Result<TokenStream> {
    match &attribute.meta {
        Meta::Path(_) => Ok(TokenStream::new()),
        Meta::List(list) => Ok(list.tokens.clone()),
        Meta::NameValue(pair) => Err(Error::new_spanned(
            pair,
            "options go in parentheses, as in `#[auto_mutex(expire = 100)]`",
        )),
    }
}
