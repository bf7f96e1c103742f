//! `#[auto_mutex::test]`: a test that runs in a world of its own.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, FnArg, Result, ReturnType, Visibility};

use crate::args::Options;
use crate::errors::Errors;
use crate::item::{Body, Function, is_mark};
use crate::kind::Kind;
use crate::tokens::{last_word, module, moved, ours, whole};

/// Input:  `#[auto_mutex::test(seeds = 100)] async fn closes(world: World) -> R { BODY }`
/// Output:
///
/// ```text
/// #[::core::prelude::v1::test]
/// fn closes() {
///     async fn closes(world: World) -> R { BODY }
///     ::auto_mutex::test::run(::auto_mutex::test::Runs::new().seeds(100), closes)
/// }
/// ```
///
/// A sync test has `run_blocking`.
pub(crate) fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(Kind::Test, Span::call_site(), args, &mut errors);
    let function = errors.note(parse.parse2(item.clone()));
    if let Some(function) = &function {
        check(function, &mut errors);
    }
    match function {
        Some(function) if errors.is_empty() => expanded(&function, &options),
        _ => errors.beside(item),
    }
}

fn parse(input: ParseStream) -> Result<Function> {
    let head = input.fork();
    head.call(Attribute::parse_outer)?;
    head.parse::<Visibility>()?;
    if Function::is_next(&head) {
        return input.parse();
    }
    Err(head
        .error("`#[auto_mutex::test]` goes on an `async fn`, or on a `fn` with code that blocks"))
}

fn check(function: &Function, errors: &mut Errors) {
    let sig = &function.sig;
    let (constness, safety, abi) = (&sig.constness, &sig.safety, &sig.abi);
    let mut inputs = sig.inputs.iter().filter(|it| matches!(it, FnArg::Typed(_)));
    for wrong in [
        quote!(#constness #safety #abi),
        sig.generics.params.to_token_stream(),
        sig.receiver().to_token_stream(),
        inputs.nth(1).to_token_stream(),
    ] {
        if !wrong.is_empty() {
            errors.on(
                wrong,
                "a test is a plain function with at most one parameter, a `World` of any number of hosts: no generics, `self`, `const`, `unsafe` or `extern`",
            );
        }
    }
    for attribute in &function.attrs {
        if is_mark(attribute) {
            errors.on(
                attribute,
                "this would lock the test itself: put it on a function that the test calls",
            );
        } else if last_word(attribute.path()) == "test" {
            errors.on(attribute, "`#[auto_mutex::test]` runs the test, and so does this attribute: keep one; a test of another kind makes its world by `World::new()`");
        }
    }
}

fn expanded(function: &Function, options: &Options) -> TokenStream {
    let Function {
        attrs,
        visibility,
        sig,
        body,
        ..
    } = function;
    let (span, name) = (Span::mixed_site(), &sig.ident);
    let test = module(options.runtime.as_ref(), "test");
    let seeds = options
        .seeds
        .as_ref()
        .map(|seeds| quote_spanned!(span=> .seeds(#seeds)));
    let shrinks = options.shrink.is_some();
    let shrink = shrinks.then(|| quote_spanned!(span=> .shrink(true)));
    // Errors about the type of the parameter are shown there.
    let called = match sig.inputs.first() {
        Some(FnArg::Typed(world)) => {
            let at_type = name.span().located_at(whole(&world.ty));
            Ident::new(&name.to_string(), at_type).into_token_stream()
        }
        _ => quote_spanned!(span=> |_| #name()),
    };
    // And those about the type that the test returns.
    let at_type = match &sig.output {
        ReturnType::Type(_, ty) => ours(whole(ty)),
        ReturnType::Default => span,
    };
    let run = if sig.asyncness.is_some() {
        "run"
    } else {
        "run_blocking"
    };
    let (run, at) = (Ident::new(run, at_type), moved(test.clone(), at_type));
    let run = quote_spanned!(at_type=> #at::#run(#test::Runs::new()#seeds #shrink, #called));
    let body = body.as_ref().map(Body::group);
    let own = quote!(#sig #body);
    quote_spanned! {span=>
        #[::core::prelude::v1::test]
        #(#attrs)*
        #visibility fn #name() {
            #own
            #run
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_in_a_world() {
        for (args, item, expected) in [
            (
                "seeds = 100, shrink",
                "/** Closes. */ #[ignore] pub async fn closes(mut world: World) -> R { body()?; Ok(()) }",
                "#[::core::prelude::v1::test] /** Closes. */ #[ignore] pub fn closes() {
                    async fn closes(mut world: World) -> R { body()?; Ok(()) }
                    ::auto_mutex::test::run(::auto_mutex::test::Runs::new().seeds(100).shrink(true), closes)
                }",
            ),
            (
                "crate = crate::locks, seeds = SEEDS",
                "fn closes() {}",
                "#[::core::prelude::v1::test] fn closes() {
                    fn closes() {}
                    crate::locks::test::run_blocking(crate::locks::test::Runs::new().seeds(SEEDS), |_| closes())
                }",
            ),
        ] {
            let [args, item, expected]: [TokenStream; 3] =
                [args, item, expected].map(|text| text.parse().expect("tokens"));
            assert_eq!(test(args, item).to_string(), expected.to_string());
        }
    }
}
