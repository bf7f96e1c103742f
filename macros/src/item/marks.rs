//! This crate's attributes on functions of a block.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

use super::Function;
use crate::args::{self, DONE, Options};
use crate::errors::Errors;
use crate::kind::Kind;
use crate::tokens::{last_word, start};

/// The attributes of this crate on a function of a block.
#[derive(Default)]
pub(crate) struct Marks {
    /// The options of `#[auto_mutex(…)]`, or of another protecting attribute.
    pub(crate) options: Option<Options>,
    /// `#[no_auto_mutex]`
    pub(crate) left_out: bool,
    /// The same attributes, marked as [`DONE`]. Without them, the compiler would report the user's import as unused.
    pub(crate) passed: TokenStream,
}

impl Marks {
    /// Removes the attributes from a function.
    pub(crate) fn take(function: &mut Function, errors: &mut Errors) -> Self {
        let marks = Self::take_those(&mut function.attrs, is_mark, errors);
        for attribute in &function.attrs {
            refuse_conditional(&attribute.meta, errors);
        }
        marks
    }

    /// Removes `#[no_auto_mutex]` from an item that is not a function.
    pub(super) fn take_no_lock(attrs: &mut Vec<Attribute>, errors: &mut Errors) -> Self {
        let is_one = |attribute: &Attribute| is_mark(attribute) && Kind::of(attribute).is_none();
        Self::take_those(attrs, is_one, errors)
    }

    fn take_those(
        attrs: &mut Vec<Attribute>,
        is_one: impl Fn(&Attribute) -> bool,
        errors: &mut Errors,
    ) -> Self {
        let mut marks = Self::default();
        let (found, rest): (Vec<_>, _) = std::mem::take(attrs).into_iter().partition(is_one);
        *attrs = rest;
        for attribute in found {
            marks.read(&attribute, errors);
        }
        marks
    }

    fn read(&mut self, attribute: &Attribute, errors: &mut Errors) {
        let Some(tokens) = errors.note(args::arguments(attribute)) else {
            return;
        };
        if is_done(&tokens) {
            return;
        }
        let path = attribute.path();
        let span = start(path);
        match (Kind::of(attribute), &self.options) {
            (Some(_), Some(first)) => errors.on(attribute, second_mark(first.kind)),
            (Some(kind), None) => self.options = Some(Options::parse(kind, span, tokens, errors)),
            (None, _) => {
                if !tokens.is_empty() {
                    errors.on(
                        tokens,
                        "`#[no_auto_mutex]` takes no options: a function without a lock needs none",
                    );
                }
                self.left_out = true;
            }
        }
        if self.left_out
            && let Some(options) = &self.options
        {
            let kind = options.kind.word();
            errors.on(
                attribute,
                format!("`#[{kind}]` and `#[no_auto_mutex]` on one item: keep one"),
            );
        }
        let done = Ident::new(DONE, span);
        self.passed.extend(quote!(#[#path(#done)]));
    }
}

/// The error for another attribute of this crate after one of kind `first`.
pub(crate) fn second_mark(first: Kind) -> String {
    let first = first.word();
    format!("this item has `#[{first}]` already: keep one of them, with all options")
}

/// Whether the attribute is one of this crate's.
pub(crate) fn is_mark(attribute: &Attribute) -> bool {
    is_word(&last_word(attribute.path()))
}

fn is_word(word: &str) -> bool {
    word == LEFT_OUT || Kind::named(word).is_some()
}

const LEFT_OUT: &str = "no_auto_mutex";

fn is_done(tokens: &TokenStream) -> bool {
    tokens.to_string() == DONE
}

/// Rejects our attributes inside `cfg_attr`, which the compiler evaluates only after it has expanded the block.
/// Recursive, because `cfg_attr` can be nested.
fn refuse_conditional(meta: &Meta, errors: &mut Errors) {
    let Meta::List(list) = meta else { return };
    if !list.path.is_ident("cfg_attr") {
        return;
    }
    let metas = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    for meta in metas.iter().flatten().skip(1) {
        if is_word(&last_word(meta.path())) {
            errors.on(
                meta,
                "a block cannot see through `cfg_attr`: write two functions, each with `#[cfg(…)]` and its own attribute",
            );
        }
        refuse_conditional(meta, errors);
    }
}
