//! The beginning of every expansion: what is asked for.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use super::site::site;
use crate::args::{Count, Key, Length, Options, Part};
use crate::item::Function;
use crate::tokens::{ours, private, private_at, whole};

/// Input:  `expire = 100, key = month` on a method of a block `impl Ledger`
/// Output:
///
/// ```text
/// let mut __request = {
///     static __SITE: Site = Site { owner: Owner::Type("Ledger"), function: "close_month", … };
///     Request::new(&__SITE)
/// };
/// Request::expire(&mut __request, Duration::from_secs(100));
/// Request::part(&mut __request, &(month));
/// ```
///
/// `edge` comes before the options, which may use `?`.
pub(crate) fn request(
    function: &Function,
    options: &Options,
    owner: Option<&str>,
    edge: TokenStream,
) -> TokenStream {
    let span = Span::mixed_site();
    let private = private(options.runtime.as_ref());
    let site = site(function, options, owner);
    let new = match (&options.name, owner) {
        (None, None) if function.knows_self() => quote_spanned!(span=> of::<Self>),
        _ => quote_spanned!(span=> new),
    };
    let settings = settings(options);
    quote_spanned! {span=>
        let mut __request = {
            #site
            #private::Request::#new(&__SITE)
        };
        #edge
        #settings
    }
}

fn settings(options: &Options) -> TokenStream {
    let mut settings = TokenStream::new();
    let mut set = |option: &str, value: TokenStream, span: Span| {
        let private = private_at(options.runtime.as_ref(), span);
        let option = proc_macro2::Ident::new(option, ours(span));
        let span = ours(span);
        settings.extend(quote_spanned!(span=> #private::Request::#option(&mut __request, #value);));
    };

    if let Some(client) = &options.client {
        set("client", borrowed(client), whole(client));
    }
    let lengths = [
        ("expire", &options.expire),
        ("block", &options.block),
        ("at_least", &options.at_least),
    ];
    for (option, length) in lengths {
        if let Some(length) = length {
            let (value, span) = duration(length, options);
            set(option, value, span);
        }
    }
    if let Some(retries) = &options.retries {
        let (value, span) = match retries {
            Count::Known(count) => (count.to_token_stream(), Span::mixed_site()),
            Count::Given(expr) => (expr.to_token_stream(), whole(expr)),
        };
        set("retries", value, span);
    }
    if let Some(interval) = &options.interval {
        let (value, span) = duration(interval, options);
        set("interval", value, span);
    }
    if let Some(Key::Parts(parts)) = &options.key {
        for part in parts {
            match part {
                Part::Text(text) => set("part", text.to_token_stream(), Span::mixed_site()),
                Part::Value(value) => set("part", borrowed(value), whole(value)),
                Part::Shown {
                    before,
                    place,
                    after,
                } if before.is_empty() && after.is_empty() => {
                    set("part", borrowed(place), whole(place));
                }
                Part::Shown {
                    before,
                    place,
                    after,
                } => {
                    let place_value = borrowed(place);
                    set(
                        "affixed",
                        quote!(#before, #place_value, #after),
                        whole(place),
                    );
                }
            }
        }
    }
    settings
}

/// Input:  `self.id`
/// Output: `&(self.id)`
fn borrowed(value: &impl ToTokens) -> TokenStream {
    let span = ours(whole(value));
    quote_spanned!(span=> &(#value))
}

fn duration(length: &Length, options: &Options) -> (TokenStream, Span) {
    match length {
        Length::Known(length) => {
            let span = Span::mixed_site();
            let private = private(options.runtime.as_ref());
            let (seconds, nanos) = (length.as_secs(), length.subsec_nanos());
            (
                quote_spanned!(span=> #private::Duration::new(#seconds, #nanos)),
                span,
            )
        }
        Length::Given(value) => (value.to_token_stream(), whole(value)),
    }
}
