//! A function that leads: its body runs once for each term.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, FnArg, Lifetime, PatType, PathArguments, Result, Signature, Type};

use super::body::Expansion;
use crate::args::Options;
use crate::errors::Errors;
use crate::flavor::Flavor;
use crate::item::{Body, Function};
use crate::kind::Kind;
use crate::tokens::{bare_type, braced, find_word, ours, private, quote_ours, start};

/// Removes the parameter of type `&Term` from a signature: the caller has no term.
pub(super) fn take_term(sig: &mut Signature, errors: &mut Errors) -> Option<PatType> {
    let mut found = None;
    for input in std::mem::take(&mut sig.inputs) {
        match input {
            FnArg::Typed(param) if is_term(&param.ty) && found.is_some() => {
                errors.on(
                    param,
                    "a body has one term: remove one of the two parameters",
                );
            }
            FnArg::Typed(param) if is_term(&param.ty) => found = Some(param),
            input => sig.inputs.push(input),
        }
    }
    let mut term = found?;
    match bare_type(&term.ty) {
        Type::Reference(reference) if reference.mutability.is_none() => {
            let mut reference = reference.clone();
            if let Some(lifetime) = reference.lifetime.take() {
                drop_lifetime(sig, &lifetime, errors);
            }
            *term.ty = Type::Reference(reference);
        }
        ty => errors.on(ty, "the body borrows its term: write `&Term`"),
    }
    Some(term)
}

/// Input:  `async fn lead(term: &Term) -> R { BODY }`, whose attribute has an error
/// Output: `async fn lead() -> R { let term: &Term = never(); BODY }`, which the program's calls suit
pub(super) fn uncalled(item: TokenStream, options: &Options) -> TokenStream {
    let (Kind::Leader, Ok(mut function)) = (options.kind, syn::parse2::<Function>(item.clone()))
    else {
        return item;
    };
    let generics = function.sig.generics.clone();
    let Some(PatType { attrs, pat, ty, .. }) = take_term(&mut function.sig, &mut Errors::default())
    else {
        return item;
    };
    // The return type may have the lifetime that is wrong for a term.
    function.sig.generics = generics;
    if let Some(body) = &mut function.body {
        let (private, tokens) = (private(options.runtime.as_ref()), &body.tokens);
        body.tokens = quote_ours!(#(#attrs)* let #pat: #ty = #private::never(); #tokens);
    }
    function.untouched()
}

/// Whether the type is `Term`, or a reference to it.
fn is_term(ty: &Type) -> bool {
    match bare_type(ty) {
        Type::Reference(reference) => is_term(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| {
            last.ident == "Term" && matches!(last.arguments, PathArguments::None)
        }),
        _ => false,
    }
}

/// Removes the lifetime that `#[async_trait]` gave to the term: the trait's function, which has no term, lacks it.
fn drop_lifetime(sig: &mut Signature, lifetime: &Lifetime, errors: &mut Errors) {
    let name = lifetime.ident.to_string();
    let number = name.strip_prefix("life").map(str::parse::<u32>);
    if name != "_" && !matches!(number, Some(Ok(_))) {
        errors.on(lifetime, "a term lives as long as its body: write `&Term`");
    }
    let keeps = |tokens: TokenStream| find_word(tokens, &name).is_none();
    let params = std::mem::take(&mut sig.generics.params).into_iter();
    sig.generics.params = params.filter(|it| keeps(it.to_token_stream())).collect();
    if let Some(clause) = &mut sig.generics.where_clause {
        let predicates = std::mem::take(&mut clause.predicates).into_iter();
        clause.predicates = predicates
            .filter(|it| keeps(it.to_token_stream()))
            .collect();
    }
}

impl Expansion<'_> {
    /// Input:  `{ BODY }` of `async fn lead(&self, term: &Term) -> R`
    /// Output:
    ///
    /// ```text
    /// let mut __request = …;
    /// let __standing = standing(__request, <R as LeadOutput>::CARRIER, false);
    /// loop {
    ///     let __term = match Standing::next(&__standing).await {
    ///         Ok(__term) => __term,
    ///         Err(__value) => return __value,
    ///     };
    ///     let __body = async { let term: &Term = &__term; BODY };
    ///     if let Some(__value) = Standing::run(&__standing, &__term, __body).await {
    ///         return __value;
    ///     }
    /// }
    /// ```
    ///
    /// A sync function has a closure instead of the future. The loop is here, because if the runtime called an async
    /// closure for each term, the compiler could not see that the function's future is `Send`.
    pub(super) fn lead(
        &self,
        flavor: &Flavor,
        body: &Body,
        term: Option<&PatType>,
    ) -> Result<TokenStream> {
        let private = &self.private;
        let (body, edge) = match flavor {
            Flavor::Sync | Flavor::Async => (body, None),
            Flavor::Block(block) => (&block.body, Some(self.edge())),
            Flavor::Made { .. } => {
                let why = "this code would run once, and a body runs for each term: make the function async, or its body exactly `async move { … }`";
                return Err(Error::new(body.span, why));
            }
        };
        let carrier = self.carrier("LeadOutput", "CARRIER")?;
        let before = self.before(edge);
        let term = term.map(|PatType { attrs, pat, ty, .. }| {
            let value = quote_spanned!(ours(start(ty))=> &__term);
            quote_ours!(#(#attrs)* let #pat: #ty = #value;)
        });
        let (at, is_sync) = (body.span, flavor.is_sync());
        let prefix = if is_sync { "blocking_" } else { "" };
        let [next, run] =
            ["next", "run"].map(|name| Ident::new(&format!("{prefix}{name}"), Span::mixed_site()));
        let wait = (!is_sync).then(|| quote!(.await));
        let closure = is_sync.then(|| quote_spanned!(at=> ||));
        let head = closure.unwrap_or_else(|| quote_spanned!(at=> async));
        let (edge, block) = (self.edge(), body.block());
        let body = braced(quote!(#edge #term #block), at);
        let expanded = quote_ours! {
            #before
            let __standing = #private::standing(__request, #carrier, #is_sync);
            loop {
                let __term = match #private::Standing::#next(&__standing)#wait {
                    #private::Ok(__term) => __term,
                    #private::Err(__value) => return __value,
                };
                if let #private::Some(__value) = #private::Standing::#run(&__standing, &__term, #head #body)#wait {
                    return __value;
                }
            }
        };
        let Flavor::Block(block) = flavor else {
            return Ok(expanded);
        };
        let inside = braced(expanded, at);
        Ok(block.pinned(quote_spanned!(at=> async move #inside)))
    }
}
