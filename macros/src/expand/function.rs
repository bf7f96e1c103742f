//! Checks and expands a protected function.

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{Attribute, Meta, ReturnType, Safety, Type};

use super::body::Expansion;
use super::handlers;
use super::lead::take_term;
use super::request::request;
use crate::args::{Handler, Options};
use crate::errors::Errors;
use crate::flavor::{Flavor, Returns};
use crate::item::{Function, is_mark, second_mark};
use crate::kind::Kind;
use crate::params::{Arguments, Params, forwarded, is_shared, shares};
use crate::tokens::{find_word, ours, private, start};

/// Expands a function that carries the attribute itself.
pub(crate) fn annotated(function: Function, options: &Options, errors: &mut Errors) -> TokenStream {
    if let Some(second) = function.attrs.iter().find(|attribute| is_mark(attribute)) {
        errors.on(second, second_mark(options.kind));
    }
    handlers::refuse_cycle(&function, options, None, true, errors);
    protect(function, options, None, false, errors)
}

/// Expands a function, alone or of a block, with all its options. `owner` is the type in the block's header. An `async
/// fn` with attributes of others stays one, as does one of a block that `has_attributes`, because they may look for it.
pub(crate) fn protect(
    mut function: Function,
    options: &Options,
    owner: Option<&str>,
    has_attributes: bool,
    errors: &mut Errors,
) -> TokenStream {
    function.check(options.kind, errors);
    let term = match options.kind {
        Kind::Leader => take_term(&mut function.sig, errors),
        _ => None,
    };
    options.check(&Params::of(&function.sig), errors);
    let Some(body) = function.body.take() else {
        return TokenStream::new();
    };
    function.attrs.iter_mut().for_each(expect_nothing_settled);
    let (flavor, returns) = Flavor::of(&function, &body);
    if flavor.is_protected(&body) {
        errors.at(
            Span::call_site(),
            "this function has its lock already: put all options into one attribute, under its own name",
        );
        return TokenStream::new();
    }
    check_flavor(&flavor, options, errors);
    check_later(&returns, errors);

    let shares = match &options.on_error {
        Some(Handler::Closure(closure)) => shares(closure, &function.sig),
        _ => false,
    };
    // Parameters need names only if a handler gets them.
    let needs_arguments = options
        .handlers()
        .any(|(_, handler)| matches!(handler, Handler::Path { .. } | Handler::Closure(_)));
    let arguments = if needs_arguments {
        forwarded(&mut function.sig)
    } else {
        Arguments::default()
    };
    let expansion = Expansion {
        options,
        returns: &returns,
        request: request(&function, options, owner),
        arguments: arguments.values,
        prelude: arguments.prelude,
        has_self: function.sig.receiver().is_some(),
        this: this(&function, &flavor),
        shares,
        is_unsafe: matches!(function.sig.safety, Safety::Unsafe(_)),
        awaits: !flavor.is_sync(),
        private: private(options.runtime.as_ref()),
    };
    let expanded = match &flavor {
        flavor if options.kind == Kind::Leader => expansion.lead(flavor, &body, term.as_ref()),
        Flavor::Sync => expansion.sync(&body),
        Flavor::Async => {
            let rewrites = !has_attributes
                && function.attrs.iter().all(is_inert)
                && !matches!(&function.sig.output, ReturnType::Type(_, ty) if matches!(**ty, Type::Never(_)));
            expansion.asynchronous(&mut function, &body, rewrites)
        }
        Flavor::Block(block) => expansion.block(block),
        Flavor::Made { boxed } => expansion.made(&function, &body, *boxed),
    };
    match errors.note(expanded) {
        Some(tokens) => function.with_body(&tokens, body.span),
        None => TokenStream::new(),
    }
}

/// An expectation of these lints would be unfulfilled: a protected function awaits its lock, can fail, and is not
/// constant.
const SETTLED: &str = "manual_async_fn missing_const_for_fn unnecessary_wraps unused_async";

/// Input:  `#[expect(clippy::unused_async)]`
/// Output: `#[allow(clippy::unused_async)]`, with this crate's span, so that lints about attributes leave it alone
fn expect_nothing_settled(attribute: &mut Attribute) {
    if let Meta::List(list) = &mut attribute.meta
        && list.path.is_ident("expect")
        && SETTLED
            .split(' ')
            .any(|lint| find_word(list.tokens.clone(), lint).is_some())
    {
        attribute.pound_token.span = ours(attribute.pound_token.span);
        list.path = Ident::new("allow", ours(start(&list.path))).into();
    }
}

/// `self`, if it is available when `on_error` is handled. In a future, the body may have consumed everything but shared
/// references. A future whose body does not use `self` may outlive it.
fn this(function: &Function, flavor: &Flavor) -> Option<TokenStream> {
    let receiver = function.sig.receiver()?;
    let is_shared = is_shared(receiver);
    let is_there = match flavor {
        Flavor::Sync => true,
        Flavor::Async => is_shared,
        Flavor::Block(block) => is_shared && find_word(block.body.tokens.clone(), "self").is_some(),
        Flavor::Made { .. } => false,
    };
    is_there.then(|| receiver.self_token.to_token_stream())
}

fn check_flavor(flavor: &Flavor, options: &Options, errors: &mut Errors) {
    if let Some(on_lost) = &options.on_lost
        && flavor.is_sync()
        && on_lost != "finish"
        && !options.is_inherited("on_lost")
    {
        errors.at(on_lost.span(), "a sync body cannot be stopped from outside: leave `on_lost` out, or make the function async");
    }
    if let Some(guard) = &options.guard
        && matches!(flavor, Flavor::Made { .. })
        && !options.is_inherited("guard")
    {
        errors.at(
            guard.span(),
            "this body runs before the lock is asked for, so there is no guard in it: make it `async fn`, or its body exactly `async move { … }`",
        );
    }
}

/// Rejects return types with a future or a stream, which would run only after the release of the lock.
fn check_later(returns: &Returns, errors: &mut Errors) {
    if let Some((span, what)) = returns.later {
        let instead = match what {
            "future" => "await it in the body of an `async fn`, and return its output",
            _ => "collect it in the body, or annotate the function that handles one of its items",
        };
        errors.at(
            span,
            format!(
                "this {what} runs after the call, without the lock, which only protects its creation: {instead}"
            ),
        );
    }
}

/// Whether the compiler itself handles the attribute, and means the same by it for an `async fn` and for a function
/// that returns a future.
pub(super) fn is_inert(attribute: &Attribute) -> bool {
    const INERT: [&str; 10] = [
        "allow",
        "cfg",
        "cold",
        "deny",
        "deprecated",
        "doc",
        "expect",
        "forbid",
        "inline",
        "warn",
    ];
    let segments = &attribute.path().segments;
    let first = segments.first().map(|first| first.ident.to_string());
    let first = first.unwrap_or_default();
    match segments.len() {
        1 => INERT.contains(&&*first),
        2 => first == "clippy" || first == "rustfmt",
        _ => false,
    }
}
