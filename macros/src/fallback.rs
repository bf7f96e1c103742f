//! The expansion in case of errors: all errors, followed by the user's item unchanged, so that editors and the rest of
//! the program still see the item.

use proc_macro2::TokenStream;
use quote::quote;

use crate::errors::Errors;

pub(crate) fn item(errors: Errors, untouched: TokenStream) -> TokenStream {
    let errors = errors.into_compile_errors();
    quote!(#errors #untouched)
}
