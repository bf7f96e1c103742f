//! The return type of a body.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::punctuated::Punctuated;
use syn::{GenericArgument, Path, PathArguments, Token, Type, TypeParamBound};

use crate::tokens::{bare_type, find_word, last_word, ours, whole};

/// The return type of the body.
pub(crate) struct Returns {
    /// The type, with `_` for each `impl Trait` in it. `None` for `impl Trait` itself, and for `!`, which cannot be
    /// named.
    pub(crate) ty: Option<TokenStream>,
    pub(crate) span: Span,
    /// The type, if the compiler must check whether it is or contains a future. `None` if its spelling shows that it is
    /// plain, or if it contains `impl Trait` and cannot be named.
    pub(crate) checked: Option<TokenStream>,
    /// Span and kind of the first future or stream in the type: see [`later`].
    pub(crate) later: Option<(Span, &'static str)>,
}

impl Returns {
    /// The implicit return type `()`. Errors about it point at `span`.
    pub(super) fn nothing(span: Span) -> Self {
        Self {
            ty: Some(quote_spanned!(ours(span)=> ())),
            span,
            checked: None,
            later: None,
        }
    }

    pub(super) fn of(ty: &Type) -> Self {
        let ty = bare_type(ty);
        let tokens = ty.to_token_stream();
        let span = whole(&tokens);
        let later = later(ty);
        let is_named = find_word(tokens.clone(), "impl").is_none();
        let is_checked = later.is_none() && is_named && !is_plain(ty);
        let ty = match ty {
            Type::ImplTrait(_) | Type::Never(_) => None,
            // The parentheses are necessary, because `<A + B as T>` is not a path.
            Type::TraitObject(_) => Some(quote_spanned!(ours(span)=> (#ty))),
            _ if is_named => Some(tokens),
            ty => Some(without_impl(ty.clone()).into_token_stream()),
        };
        Self {
            checked: ty.clone().filter(|_| is_checked),
            ty,
            span,
            later,
        }
    }
}

/// Whether the spelling shows that a type neither is nor contains a future, as most return types do. Each check costs
/// compile time.
fn is_plain(ty: &Type) -> bool {
    match bare_type(ty) {
        Type::Never(_) => true,
        Type::Tuple(tuple) => tuple.elems.iter().all(is_plain),
        Type::Reference(reference) => is_plain(&reference.elem),
        Type::Slice(slice) => is_plain(&slice.elem),
        Type::Array(array) => is_plain(&array.elem),
        Type::Path(path) if path.qself.is_none() => {
            let Some(last) = path.path.segments.last() else {
                return false;
            };
            let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                return last.ident == "String" || is_primitive(&last.ident);
            };
            let mut types = arguments.args.iter().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            // The error type is never a future.
            let is_result = last.ident == "Result";
            let is_known = ["Option", "Vec", "Box", "Arc"]
                .iter()
                .any(|known| last.ident == known);
            is_result && types.next().is_none_or(is_plain) || is_known && types.all(is_plain)
        }
        _ => false,
    }
}

fn is_primitive(name: &Ident) -> bool {
    [
        "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str", "u128",
        "u16", "u32", "u64", "u8", "usize",
    ]
    .iter()
    .any(|primitive| name == primitive)
}

/// Finds the first future or stream in a return type, which would run after the call.
fn later(ty: &Type) -> Option<(Span, &'static str)> {
    let name = |path: &Path| match &*last_word(path) {
        "Future" | "BoxFuture" | "LocalBoxFuture" => Some((whole(path), "future")),
        "Stream" | "TryStream" | "BoxStream" | "LocalBoxStream" => Some((whole(path), "stream")),
        _ => None,
    };
    let bounds = |bounds: &Punctuated<TypeParamBound, Token![+]>| {
        bounds.iter().find_map(|bound| match bound {
            TypeParamBound::Trait(bound) => name(&bound.path),
            _ => None,
        })
    };
    match bare_type(ty) {
        Type::ImplTrait(opaque) => bounds(&opaque.bounds),
        Type::TraitObject(object) => bounds(&object.bounds),
        Type::Path(path) => name(&path.path).or_else(|| {
            path.path.segments.iter().find_map(|segment| {
                let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
                    return None;
                };
                arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(ty) => later(ty),
                    _ => None,
                })
            })
        }),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(later),
        Type::Reference(reference) => later(&reference.elem),
        Type::Array(array) => later(&array.elem),
        _ => None,
    }
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
