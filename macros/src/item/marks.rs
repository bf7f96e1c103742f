//! The attributes on the functions of a block: `#[auto_mutex]`, `#[no_auto_mutex]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Token};

use super::Function;
use crate::args::{self, DONE, Options};
use crate::errors::Errors;

/// What a function of a block is marked with.
#[derive(Default)]
pub(crate) struct Marks {
    /// `#[auto_mutex(…)]`
    pub(crate) options: Option<Options>,
    /// `#[no_auto_mutex]`
    pub(crate) left_out: bool,
    /// The marks again, in a form that lets the item pass: without them the user's import would be unused.
    pub(crate) passed: TokenStream,
}

impl Marks {
    /// Takes the marks off a function.
    pub(crate) fn take(function: &mut Function, errors: &mut Errors) -> Self {
        let mut marks = Self::default();
        let (found, attrs): (Vec<_>, _) = std::mem::take(&mut function.attrs)
            .into_iter()
            .partition(is_mark);
        function.attrs = attrs;
        for attribute in found {
            marks.read(&attribute, errors);
        }
        for attribute in &function.attrs {
            refuse_conditional(attribute, errors);
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
        if named(attribute, "no_auto_mutex") {
            if !tokens.is_empty() {
                errors.on(
                    tokens,
                    "`#[no_auto_mutex]` takes no options: a function without a lock needs none",
                );
            }
            self.left_out = true;
        } else if self.options.is_some() {
            errors.on(attribute, TWICE);
        } else {
            self.options = Some(Options::parse(tokens, errors));
        }
        if self.left_out && self.options.is_some() {
            errors.on(
                attribute,
                "`#[auto_mutex]` and `#[no_auto_mutex]` on one function: keep one",
            );
        }
        let path = attribute.path();
        let done = Ident::new(DONE, path.segments[0].ident.span());
        self.passed.extend(quote!(#[#path(#done)]));
    }
}

/// What to say of a second `#[auto_mutex]`.
pub(crate) const TWICE: &str = "`#[auto_mutex]` is given twice: put all options into one";

/// Whether it is one of this crate's attributes.
pub(crate) fn is_mark(attribute: &Attribute) -> bool {
    named(attribute, "auto_mutex") || named(attribute, "no_auto_mutex")
}

fn named(attribute: &Attribute, name: &str) -> bool {
    attribute
        .path()
        .segments
        .last()
        .is_some_and(|segment| segment.ident == name)
}

fn is_done(tokens: &TokenStream) -> bool {
    tokens.to_string() == DONE
}

/// The compiler evaluates `cfg_attr` too late for the block to see what is in it.
fn refuse_conditional(attribute: &Attribute, errors: &mut Errors) {
    if !attribute.path().is_ident("cfg_attr") {
        return;
    }
    let Ok(metas) = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
    else {
        return;
    };
    for meta in metas.iter().skip(1) {
        let last = meta
            .path()
            .segments
            .last()
            .map(|segment| segment.ident.to_string());
        if matches!(last.as_deref(), Some("auto_mutex" | "no_auto_mutex")) {
            errors.on(
                meta.to_token_stream(),
                "a block cannot see through `cfg_attr`: write two functions, each with `#[cfg(…)]` and its own attribute",
            );
        }
    }
}
