//! The request with which every expansion begins.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::Path;

use super::site::{is_of_site, site};
use crate::args::{Count, Key, Keys, Length, Options, Part, Shape, is_place};
use crate::item::Function;
use crate::tokens::{moved, ours, private, quote_ours, start};

/// The request of a call.
pub(super) struct Request {
    /// `Mutex`
    pub(super) lock: Ident,
    /// `Request::<Mutex>::new(site!("…"))`
    pub(super) new: TokenStream,
    /// The statements that set options of `__request`. Their values may use `?`.
    pub(super) settings: TokenStream,
}

/// Input:  `expire = 100, key = month` on a method of a block `impl Ledger`
/// Output:
///
/// ```text
/// Request::<Mutex>::new(site!("…7:tLedger11:close_month…"))
/// Request::part(&mut __request, "", &(month), "");
/// ```
pub(super) fn request(function: &Function, options: &Options, owner: Option<&str>) -> Request {
    let private = private(options.runtime.as_ref());
    let lock = if options.takes_several() {
        Ident::new("Multi", Span::mixed_site())
    } else {
        options.kind.ident()
    };
    let is_of_self = options.name.is_none() && owner.is_none() && function.knows_self();
    let site = site(function, options, owner, is_of_self);
    Request {
        new: if is_of_self {
            quote_ours!(#private::Request::<#private::#lock>::of::<Self>(#site))
        } else {
            quote_ours!(#private::Request::<#private::#lock>::new(#site))
        },
        settings: settings(options),
        lock,
    }
}

impl Request {
    /// `let mut __request = …;`, then `first`, and the statements that set its options.
    pub(super) fn statements(&self, first: impl ToTokens) -> TokenStream {
        let Self { new, settings, .. } = self;
        let by = (!settings.is_empty()).then(|| quote!(mut));
        quote_ours!(let #by __request = #new; #first #settings)
    }
}

fn settings(options: &Options) -> TokenStream {
    let mut settings = Settings {
        runtime: options.runtime.as_ref(),
        tokens: TokenStream::new(),
    };
    for row in options.rows() {
        match (row.shape)(options) {
            // Only expressions are set here. Constants of these kinds are already part of the site.
            Shape::Length(Length::Computed(value)) => {
                let option = row.name;
                settings.set("length", quote_ours!(#option, #value), start(value));
            }
            Shape::Count(Count::Known(_)) if is_of_site(row.name) => {}
            Shape::Count(Count::Known(count)) => {
                settings.set(row.name, count.to_token_stream(), Span::mixed_site());
            }
            Shape::Count(Count::Computed(value)) => {
                settings.set(row.name, number(value), start(value));
            }
            Shape::Expr(value) => settings.set(row.name, borrowed(value), start(value)),
            _ => {}
        }
    }
    if let Some(was) = &options.was {
        let (in_namespace, fixed) = (was.in_namespace, &was.fixed);
        settings.set("was", quote!(#in_namespace, #fixed), Span::mixed_site());
        settings.parts("was_part", &was.parts);
    }
    if let Some(value) = &options.value {
        settings.parts("value", value);
    }
    if options.again.is_some() {
        settings.set("again_on_error", TokenStream::new(), Span::mixed_site());
    }
    if let Some(word) = &options.on_overrun {
        let private = private(settings.runtime);
        let overrun = if word == "abort" { "Abort" } else { "Log" };
        let overrun = Ident::new(overrun, Span::mixed_site());
        let overrun = quote_ours!(#private::Overrun::#overrun);
        settings.set("on_overrun", overrun, Span::mixed_site());
    }
    match (&options.key, &options.keys) {
        (_, Some(Keys::List(keys))) => {
            for parts in keys {
                settings.set("another", TokenStream::new(), Span::mixed_site());
                settings.parts("part", parts);
            }
        }
        (_, Some(Keys::Each(values))) => {
            let (by, value) = match is_place(values) {
                true => ("each_of", borrowed(values)),
                false => ("each", values.to_token_stream()),
            };
            settings.set(by, value, start(values));
        }
        (Some(Key::Parts(parts)), None) => settings.parts("part", parts),
        _ => {}
    }
    settings.tokens
}

/// Statements, each of which sets an option.
struct Settings<'a> {
    runtime: Option<&'a Path>,
    tokens: TokenStream,
}

impl Settings<'_> {
    /// `Request::retries(&mut __request, value);`
    fn set(&mut self, option: &str, value: TokenStream, span: Span) {
        let private = moved(private(self.runtime), span);
        let option = Ident::new(option, ours(span));
        let span = ours(span);
        self.tokens
            .extend(quote_spanned!(span=> #private::Request::#option(&mut __request, #value);));
    }

    /// `Request::part(&mut __request, "before", &(value), "after");` for each part.
    fn parts(&mut self, option: &str, parts: &[Part]) {
        for part in parts {
            let (before, shown, after, span) = match part {
                Part::Text(text) => ("", text.to_token_stream(), "", Span::mixed_site()),
                Part::Computed(value) => ("", borrowed(value), "", start(value)),
                Part::Shown {
                    before,
                    place,
                    after,
                } => (&**before, borrowed(place), &**after, start(place)),
            };
            self.set(option, quote!(#before, #shown, #after), span);
        }
    }
}

/// Input:  `n.try_into()?`
/// Output: `{ let __number: u32 = n.try_into()?; __number }`
///
/// A type error then mentions the variable instead of a function of the runtime.
fn number(value: &impl ToTokens) -> TokenStream {
    let span = ours(start(value));
    quote_spanned!(span=> { let __number: ::core::primitive::u32 = #value; __number })
}

/// Input:  `self.id`
/// Output: `&(self.id)`
fn borrowed(value: &impl ToTokens) -> TokenStream {
    let span = ours(start(value));
    quote_spanned!(span=> &(#value))
}
