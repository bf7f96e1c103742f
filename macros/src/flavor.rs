//! How a function's body runs: at the call, or in a future; and what it returns in the end.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::{GenericArgument, PathArguments, ReturnType, Type, TypeParamBound, TypePath};

use crate::item::{Body, Function};
use crate::tokens::{bare_type, ours, whole};

/// How the body runs.
pub(crate) enum Flavor {
    /// At the call.
    Sync,
    /// `async fn`.
    Async,
    /// A function whose body is exactly an async block (as `#[async_trait]` leaves it).
    Block(AsyncBlock),
    /// A function that makes a future in some other way: its own code runs at the call, and only the future
    /// can be protected.
    Made { boxed: bool },
}

/// `async move { … }`, possibly in `Box::pin(…)`.
pub(crate) struct AsyncBlock {
    pub(crate) body: Body,
    /// `Box::pin` and the place of its parentheses.
    pub(crate) pin: Option<(TokenStream, Span)>,
}

/// What the body returns.
pub(crate) struct Returns {
    /// With `_` for each `impl Trait`; `None` if nothing else is left, or for `!`, which has no name either.
    pub(crate) ty: Option<TokenStream>,
    pub(crate) span: Span,
    /// Spelled `Result<…>` or not at all: then nobody needs to ask whether it is a future.
    pub(crate) is_result: bool,
}

impl Flavor {
    pub(crate) fn of(function: &Function, body: &Body) -> (Self, Returns) {
        let sig = &function.sig;
        let ReturnType::Type(_, ty) = &sig.output else {
            let span = sig.ident.span();
            let returns = Returns {
                ty: Some(quote_spanned!(ours(span)=> ())),
                span,
                is_result: true,
            };
            return (
                if sig.asyncness.is_some() {
                    Self::Async
                } else {
                    Self::Sync
                },
                returns,
            );
        };
        if sig.asyncness.is_some() {
            return (Self::Async, Returns::of(ty));
        }
        match future(ty) {
            None => (Self::Sync, Returns::of(ty)),
            Some((output, boxed)) => match AsyncBlock::find(&body.tokens) {
                Some(block) => (Self::Block(block), Returns::of(output)),
                None => (Self::Made { boxed }, Returns::of(output)),
            },
        }
    }

    pub(crate) fn is_sync(&self) -> bool {
        matches!(self, Self::Sync)
    }
}

impl Returns {
    fn of(ty: &Type) -> Self {
        let span = whole(ty);
        let ty = bare_type(ty);
        let is_result = match ty {
            Type::Path(path) => {
                let last = path.path.segments.last();
                last.is_some_and(|segment| segment.ident == "Result")
            }
            _ => false,
        };
        let ty = match ty {
            Type::ImplTrait(_) | Type::Never(_) => None,
            ty => Some(without_impl(ty.clone()).into_token_stream()),
        };
        Self {
            ty,
            span,
            is_result,
        }
    }
}

/// The output of a future's type, and whether the type is boxed.
///
/// Only these spellings say that a type is a future; the compiler finds the others.
fn future(ty: &Type) -> Option<(&Type, bool)> {
    match bare_type(ty) {
        Type::ImplTrait(opaque) => opaque
            .bounds
            .iter()
            .find_map(bound_output)
            .map(|output| (output, false)),
        Type::Path(path) => {
            let segment = path.path.segments.last()?;
            let mut types = arguments(&segment.arguments).filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            let inner = types.next()?;
            match segment.ident.to_string().as_str() {
                "BoxFuture" | "LocalBoxFuture" => Some((inner, true)),
                "Pin" => match bare_type(inner) {
                    Type::Path(boxed) => boxed_output(boxed).map(|output| (output, true)),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

/// Input:  `Box<dyn Future<Output = T> + Send>`
/// Output: `T`
fn boxed_output(boxed: &TypePath) -> Option<&Type> {
    let segment = boxed.path.segments.last()?;
    if segment.ident != "Box" {
        return None;
    }
    arguments(&segment.arguments).find_map(|argument| match argument {
        GenericArgument::Type(ty) => match bare_type(ty) {
            Type::TraitObject(object) => object.bounds.iter().find_map(bound_output),
            _ => None,
        },
        _ => None,
    })
}

/// Input:  `Future<Output = T>`
/// Output: `T`
fn bound_output(bound: &TypeParamBound) -> Option<&Type> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    let segment = bound.path.segments.last()?;
    if segment.ident != "Future" {
        return None;
    }
    arguments(&segment.arguments).find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(&assoc.ty),
        _ => None,
    })
}

fn arguments(arguments: &PathArguments) -> impl Iterator<Item = &GenericArgument> {
    match arguments {
        PathArguments::AngleBracketed(arguments) => Some(arguments.args.iter()),
        _ => None,
    }
    .into_iter()
    .flatten()
}

/// Input:  `Result<impl Display, (A, impl Clone)>`
/// Output: `Result<_, (A, _)>`
fn without_impl(mut ty: Type) -> Type {
    fn erase(ty: &mut Type) {
        match ty {
            Type::ImplTrait(opaque) => {
                *ty = Type::Infer(syn::TypeInfer {
                    attrs: Vec::new(),
                    underscore_token: syn::Token![_](opaque.impl_token.span),
                });
            }
            Type::Path(path) => {
                for segment in &mut path.path.segments {
                    if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
                        for argument in &mut arguments.args {
                            if let GenericArgument::Type(ty) = argument {
                                erase(ty);
                            }
                        }
                    }
                }
            }
            Type::Tuple(tuple) => tuple.elems.iter_mut().for_each(erase),
            Type::Reference(reference) => erase(&mut reference.elem),
            Type::Slice(slice) => erase(&mut slice.elem),
            Type::Array(array) => erase(&mut array.elem),
            Type::Paren(paren) => erase(&mut paren.elem),
            Type::Group(group) => erase(&mut group.elem),
            _ => {}
        }
    }
    erase(&mut ty);
    ty
}

impl AsyncBlock {
    /// Input:  `Box::pin(async move { a; b })`
    /// Output: `a; b` and `Box::pin`
    fn find(tokens: &TokenStream) -> Option<Self> {
        if let Some(body) = async_block(tokens.clone()) {
            return Some(Self { body, pin: None });
        }
        let mut path: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let TokenTree::Group(call) = path.pop()? else {
            return None;
        };
        let is_path = path.iter().all(|token| match token {
            TokenTree::Ident(_) => true,
            TokenTree::Punct(punct) => punct.as_char() == ':',
            _ => false,
        });
        let pins = path.last().is_some_and(|last| last.to_string() == "pin")
            && path
                .iter()
                .rev()
                .nth(3)
                .is_some_and(|owner| owner.to_string() == "Box");
        if call.delimiter() != Delimiter::Parenthesis || !is_path || !pins {
            return None;
        }
        let body = async_block(call.stream())?;
        Some(Self {
            body,
            pin: Some((path.into_iter().collect(), call.span())),
        })
    }
}

/// Input:  `async move { a; b }`
/// Output: `a; b`
fn async_block(tokens: TokenStream) -> Option<Body> {
    let mut tokens = tokens.into_iter();
    if tokens.next()?.to_string() != "async" {
        return None;
    }
    let mut next = tokens.next()?;
    if next.to_string() == "move" {
        next = tokens.next()?;
    }
    let TokenTree::Group(body) = next else {
        return None;
    };
    let rest = tokens.collect::<TokenStream>().to_string();
    (body.delimiter() == Delimiter::Brace && matches!(rest.as_str(), "" | ",")).then(|| Body {
        tokens: body.stream(),
        span: body.span(),
    })
}

/// Whether the body was made by one of these attributes already.
pub(crate) fn is_protected(body: &TokenStream) -> bool {
    let words: Vec<String> = body
        .clone()
        .into_iter()
        .take(3)
        .map(|token| token.to_string())
        .collect();
    words == ["let", "mut", "__request"]
}
