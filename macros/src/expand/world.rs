//! `#[auto_mutex::test]`: a test that runs in a world of its own.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, FnArg, Pat, PatType, Result, ReturnType, Signature, Type, Visibility};

use crate::args::Options;
use crate::errors::Errors;
use crate::item::{Body, Function, is_mark, outer_and_inner};
use crate::kind::Kind;
use crate::tokens::{bare_type, last_word, module, moved, ours, start};

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
/// A sync test has `run_blocking`. Parameters other than the world are left to the attribute that has their values,
/// which makes the test:
///
/// ```text
/// #[rstest]
/// #[case(5)]
/// fn closes(#[case] month: u32) {
///     async fn closes(month: u32, world: World) -> R { BODY }
///     ::auto_mutex::test::run(::auto_mutex::test::Runs::new(), move |world| closes(Clone::clone(&month), world))
/// }
/// ```
pub(crate) fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::parse(Kind::Test, Span::call_site(), args, &mut errors);
    let function = errors.note(parse.parse2(item.clone()));
    if let Some(function) = &function {
        check(function, &mut errors);
    }
    let expansion = function.map(|it| expanded(&it, &options));
    errors.or(expansion.unwrap_or_default(), item)
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
    // Another attribute may have values for more of them.
    let for_others = function.attrs.iter().any(is_of_another_crate);
    for wrong in [
        quote!(#constness #safety #abi),
        sig.generics.params.to_token_stream(),
        sig.receiver().to_token_stream(),
        inputs.nth(1).filter(|_| !for_others).to_token_stream(),
    ] {
        if !wrong.is_empty() {
            errors.on(
                wrong,
                "a test is a plain function with at most one parameter, a `World` of any number of hosts: no generics, `self`, `const`, `unsafe` or `extern`",
            );
        }
    }
    for other in of_others(function) {
        if name_of(other).is_none() {
            errors.on(
                &other.pat,
                "each run gets a clone of this parameter, which needs a name: write `name: Type`, and take it apart in the body",
            );
        }
    }
    if let Some(FnArg::Typed(world)) = sig.inputs.first().filter(|_| !for_others) {
        if let Type::Reference(reference) = bare_type(&world.ty) {
            errors.on(reference, "a test owns its `World`: leave out the `&`");
        }
        for condition in world.attrs.iter().filter(|it| it.path().is_ident("cfg")) {
            errors.on(
                condition,
                "a test has its `World` always or never: put `#[cfg(…)]` on the test, and write another one without a `World`",
            );
        }
    }
    if function.body.is_none() {
        errors.on(sig, "a test needs a body: write `{ … }`");
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

/// Attributes of the language, which a test may have.
const BUILT_IN: &str = "allow cfg cfg_attr deny doc expect forbid ignore should_panic warn";

/// Whether it may have the values of parameters.
fn is_of_another_crate(attribute: &Attribute) -> bool {
    let word = last_word(attribute.path());
    !BUILT_IN.split(' ').any(|built_in| built_in == word)
}

/// The parameters that another attribute has values for.
fn of_others(function: &Function) -> Vec<&PatType> {
    match function.attrs.iter().any(is_of_another_crate) {
        true => function.sig.inputs.iter().filter_map(of_another).collect(),
        false => Vec::new(),
    }
}

/// The parameter, unless it is the world.
fn of_another(input: &FnArg) -> Option<&PatType> {
    let is_world =
        |ty: &Type| matches!(bare_type(ty), Type::Path(ty) if last_word(&ty.path) == "World");
    match input {
        FnArg::Typed(typed) if !is_world(&typed.ty) => Some(typed),
        _ => None,
    }
}

fn name_of(typed: &PatType) -> Option<&Ident> {
    match &*typed.pat {
        Pat::Ident(pat) if pat.subpat.is_none() => Some(&pat.ident),
        _ => None,
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
    let (outer, inner) = outer_and_inner(attrs);
    let test = module(options.runtime.as_ref(), "test");
    let runs = runs(&test, options);
    let others = of_others(function);
    // Errors about the type of the parameter are shown there.
    let called = match sig.inputs.first() {
        _ if !others.is_empty() => with_parameters(sig),
        Some(FnArg::Typed(world)) => moved(name.to_token_stream(), start(&world.ty)),
        _ => quote_spanned!(span=> |_| #name()),
    };
    // And those about the type that the test returns.
    let at_type = match &sig.output {
        ReturnType::Type(_, ty) => ours(start(ty)),
        ReturnType::Default => span,
    };
    let run = if sig.asyncness.is_some() {
        "run"
    } else {
        "run_blocking"
    };
    let (run, at) = (Ident::new(run, at_type), moved(test, at_type));
    let run = quote_spanned!(at_type=> #at::#run(#runs, #called));
    let body = body.as_ref().map(Body::group);
    let own = Signature {
        inputs: sig.inputs.iter().cloned().map(without_attributes).collect(),
        ..sig.clone()
    };
    // The other attribute makes the test.
    let is_test = others.is_empty();
    let others = others.into_iter().map(|other| {
        let (attrs, name, ty) = (&other.attrs, name_of(other), &other.ty);
        quote!(#(#attrs)* #name: #ty)
    });
    let is_test = is_test.then(|| quote_spanned!(span=> #[::core::prelude::v1::test]));
    quote_spanned! {span=>
        #is_test
        #(#outer)*
        #visibility fn #name(#(#others),*) {
            #(#inner)*
            #own #body
            #run
        }
    }
}

fn runs(test: &TokenStream, options: &Options) -> TokenStream {
    let span = Span::mixed_site();
    let seeds = options.seeds.as_ref();
    let seeds = seeds.map(|seeds| quote_spanned!(span=> .seeds(#seeds)));
    let repeats = options.repeatable;
    let repeats = repeats.map(|repeats| quote_spanned!(span=> .repeatable(#repeats)));
    let shrinks = options.shrink.is_some();
    let shrink = shrinks.then(|| quote_spanned!(span=> .shrink(true)));
    quote_spanned!(span=> #test::Runs::new()#seeds #repeats #shrink)
}

/// A call for each run, with clones of the values.
fn with_parameters(sig: &Signature) -> TokenStream {
    let (span, name) = (Span::mixed_site(), &sig.ident);
    let values = sig.inputs.iter().map(|input| match of_another(input) {
        None => quote_spanned!(span=> world),
        Some(other) => {
            let value = name_of(other);
            quote_spanned!(span=> ::core::clone::Clone::clone(&#value))
        }
    });
    // There may be no parameter for the world.
    quote_spanned!(span=> move |world| { let _ = &world; #name(#(#values),*) })
}

fn without_attributes(mut input: FnArg) -> FnArg {
    if let FnArg::Typed(typed) = &mut input {
        typed.attrs.clear();
    }
    input
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
                "repeatable = false",
                "#[rstest] #[case(5)] async fn closes(#[case] mut month: u32, #[ignore] world: World) {}",
                "#[rstest] #[case(5)] fn closes(#[case] month: u32) {
                    async fn closes(mut month: u32, world: World) {}
                    ::auto_mutex::test::run(::auto_mutex::test::Runs::new().repeatable(false),
                        move |world| { let _ = &world; closes(::core::clone::Clone::clone(&month), world) })
                }",
            ),
            (
                "",
                "#[test_case(5)] fn closes(month: u32) {}",
                "#[test_case(5)] fn closes(month: u32) {
                    fn closes(month: u32) {}
                    ::auto_mutex::test::run_blocking(::auto_mutex::test::Runs::new(),
                        move |world| { let _ = &world; closes(::core::clone::Clone::clone(&month)) })
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
