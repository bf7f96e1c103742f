//! Collects errors, so that a user sees all of them at once.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;

/// The errors so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds an error, unless the same error was added already. The same error can come again, because an option of a
    /// block is checked for each function of the block.
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => {
                let shown = |error: &syn::Error| format!("{:?} {error}", error.span());
                let new = shown(&error);
                if errors.clone().into_iter().all(|known| shown(&known) != new) {
                    errors.combine(error);
                }
            }
            none => *none = Some(error),
        }
    }

    /// Adds an error about one place.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Adds an error about a range of tokens.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Returns the value; for an error, adds the error and returns `None`.
    pub(crate) fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns one `compile_error!` for each error, without the prefix `::core::`. In edition 2015, the compiler would
    /// look up that path in the user's crate.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        let errors = self.0.map(syn::Error::into_compile_error);
        let is_path = |token: &TokenTree| match token {
            TokenTree::Punct(punct) => punct.as_char() == ':',
            TokenTree::Ident(word) => word == "core",
            _ => false,
        };
        let errors = errors.unwrap_or_default().into_iter();
        errors.filter(|token| !is_path(token)).collect()
    }
}
