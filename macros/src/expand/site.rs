//! The static description of an annotated function, from which the runtime makes the list of all sites.

use proc_macro2::{Literal, Span, TokenStream};
use syn::LitStr;
use syn::ext::IdentExt;

use crate::args::{Count, Key, Length, Options, Shape};
use crate::item::Function;
use crate::source;
use crate::tokens::{private, quote_ours};

/// Input:  `#[auto_mutex(expire = 100, key = month)] fn close(…)` in a block `impl Ledger`
/// Output: `site!("…7:tLedger5:close…")`
///
/// A single text is the cheapest to compile: see `Declared` in the runtime, which reads it.
pub(super) fn site(
    function: &Function,
    options: &Options,
    owner: Option<&str>,
    is_of_self: bool,
) -> TokenStream {
    let private = private(options.runtime.as_ref());
    let (file, line) = source::location(function.sig.ident.span());
    let mut text = Text::default();
    text.add(package());
    text.add(Some(file));
    text.add(Some(line.to_string()));
    text.add(Some(options.kind.hold()));
    text.add(Some(owner_of(options, owner, is_of_self)));
    text.add(Some(function.sig.ident.unraw().to_string()));
    text.add(Some(options.text()));
    text.add(options.ns.as_ref().map(LitStr::value));
    text.add(options.order.as_ref().map(LitStr::value));
    text.add(options.reentrant.map(|flag| flag.to_string()));
    text.add(lengths(options));
    match (&options.key, &options.keys) {
        (_, Some(keys)) => text.add(Some(keys.shown())),
        (Some(Key::Parts(parts)), None) => {
            for part in parts {
                text.add(Some(part.shown()));
            }
        }
        _ => {}
    }
    let mut text = Literal::string(&text.0);
    text.set_span(Span::mixed_site());
    quote_ours!(#private::site!(#text))
}

/// Input:  the program `worker` of the package `shop`
/// Output: `shop:worker`; `shop` in its library, and in the program that is called like the package
fn package() -> Option<String> {
    let package = std::env::var("CARGO_PKG_NAME").ok()?;
    let program = std::env::var("CARGO_BIN_NAME").ok();
    Some(match program.filter(|program| *program != package) {
        Some(program) => format!("{package}:{program}"),
        None => package,
    })
}

/// Input: `expire = 1.5, block = 10` Output: `expire=1.500000000 block=10.0`: seconds and nanoseconds;
/// `max_waiters=100`. A call sets those that are no literals.
fn lengths(options: &Options) -> Option<String> {
    let known = options.rows().filter_map(|row| match (row.shape)(options) {
        Shape::Length(Length::Known(it)) => {
            let (name, seconds, nanos) = (row.name, it.as_secs(), it.subsec_nanos());
            Some(format!("{name}={seconds}.{nanos}"))
        }
        Shape::Count(Count::Known(most)) if is_of_site(row.name) => {
            Some(format!("{}={most}", row.name))
        }
        _ => None,
    });
    let known: Vec<_> = known.collect();
    (!known.is_empty()).then(|| known.join(" "))
}

/// Whether the site has the option's literal, so that calls need not set it.
pub(super) fn is_of_site(count: &str) -> bool {
    count == "max_waiters"
}

/// The fields of a site: `5:hello` for a value, `-:` for none.
#[derive(Default)]
struct Text(String);

impl Text {
    fn add(&mut self, field: Option<String>) {
        let field = field.map(|field| format!("{}:{field}", field.len()));
        self.0.push_str(field.as_deref().unwrap_or("-:"));
    }
}

/// The part of the lock's name before the function's name, or the whole name from `name = …`: `Owner` in the runtime.
fn owner_of(options: &Options, owner: Option<&str>, is_of_self: bool) -> String {
    if let Some(name) = &options.name {
        format!("n{}", name.value())
    } else if let Some(owner) = owner {
        format!("t{owner}")
    } else if is_of_self {
        "s".to_owned()
    } else {
        "m".to_owned()
    }
}
