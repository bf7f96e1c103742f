//! The static description of an annotated function, submitted to the list of all sites.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;

use crate::args::{Key, Length, Options, Part, Shape, TABLE};
use crate::item::Function;
use crate::source;
use crate::tokens::private;

/// Input:  `#[auto_mutex(expire = 100, key = month)] fn close(…)` in a block `impl Ledger`
/// Output:
///
/// ```text
/// static __SITE: Site = Site::new(SiteData { owner: Owner::Type("Ledger"), function: "close", key: &["{month}"], … });
/// submit! { &__SITE }
/// ```
pub(super) fn site(function: &Function, options: &Options, owner: Option<&str>) -> TokenStream {
    let span = Span::mixed_site();
    let private = private(options.runtime.as_ref());
    let owner = owner_of(function, options, owner);
    let fields = TABLE.iter().filter(|row| !row.site.is_empty()).map(|row| {
        let field = Ident::new(row.site, span);
        let value = match (row.shape)(options) {
            Shape::Text(text) => text.map(ToTokens::to_token_stream),
            Shape::Flag(flag) => flag.map(ToTokens::to_token_stream),
            _ => None,
        };
        match value {
            Some(value) => quote_spanned!(span=> #field: #private::Some(#value)),
            None => quote_spanned!(span=> #field: #private::None),
        }
    });
    let name = function.sig.ident.unraw().to_string();
    let (file, line) = source::location(function.sig.ident.span());
    let parts: Vec<String> = match (&options.key, &options.keys) {
        (_, Some(keys)) => vec![keys.shown()],
        (Some(Key::Parts(parts)), None) => parts.iter().map(Part::shown).collect(),
        _ => Vec::new(),
    };
    let kind = options.kind.hold();
    let text = options.text();
    let lengths = TABLE.iter().filter_map(|row| {
        let Shape::Length(length) = (row.shape)(options) else {
            return None;
        };
        let (is_literal, length) = match length {
            Some(Length::Known(length)) => (true, *length),
            Some(Length::Given(_)) | None => (false, Duration::ZERO),
        };
        let (seconds, nanos) = (length.as_secs(), length.subsec_nanos());
        Some(quote_spanned!(span=> (#is_literal, #seconds, #nanos)))
    });
    quote_spanned! {span=>
        static __SITE: #private::Site = #private::Site::new(#private::SiteData {
            package: ::core::option_env!("CARGO_PKG_NAME"),
            module: ::core::module_path!(),
            file: #file,
            line: #line,
            kind: #private::HoldKind::#kind,
            owner: #private::Owner::#owner,
            function: #name,
            key: &[#(#parts),*],
            options: #text,
            #(#fields,)*
            lengths: [#(#lengths),*],
        });
        #private::submit! { &__SITE }
    }
}

/// The `Owner` of the site: the part of the lock's name before the function's name, or the whole name from `name = …`.
fn owner_of(function: &Function, options: &Options, owner: Option<&str>) -> TokenStream {
    let span = Span::mixed_site();
    if let Some(name) = &options.name {
        quote_spanned!(span=> Named(#name))
    } else if let Some(owner) = owner {
        quote_spanned!(span=> Type(#owner))
    } else if function.knows_self() {
        quote_spanned!(span=> SelfType)
    } else {
        quote_spanned!(span=> Module)
    }
}
