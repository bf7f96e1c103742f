//! What to emit when something is wrong: every error, and the user's item as it was.
//!
//! So an editor goes on understanding the item, and the rest of the program sees it.

use proc_macro2::TokenStream;
use quote::quote;

use crate::errors::Errors;

pub(crate) fn item(errors: Errors, untouched: TokenStream) -> TokenStream {
    let errors = errors.into_compile_errors();
    quote!(#errors #untouched)
}
