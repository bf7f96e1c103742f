//! Collects errors, so that the user sees all of them.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};

/// The errors so far.
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds an error unless it is already there. Options of a block are checked for each of its functions, which
    /// repeats errors.
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

    /// Adds an error at a span.
    pub(crate) fn at(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    /// Adds an error about a range of tokens.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Returns the value, or adds the error and returns `None`.
    pub(crate) fn note<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The expansion; or in case of errors, all of them, followed by the user's item unchanged, so that editors and the
    /// rest of the program still see the item.
    pub(crate) fn or(self, expansion: TokenStream, untouched: TokenStream) -> TokenStream {
        match self.0.map(syn::Error::into_compile_error) {
            None => expansion,
            Some(errors) => quote!(#errors #untouched),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}
