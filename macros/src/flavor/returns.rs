//! The return type of a body.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::punctuated::Punctuated;
use syn::{GenericArgument, Path, PathArguments, Token, Type, TypeParamBound};

use crate::tokens::{bare_type, ours, whole};

/// The return type of the body.
pub(crate) struct Returns {
    /// The type, with `_` for each `impl Trait` in it. `None` for a type that is itself `impl Trait`, and for `!`,
    /// which cannot be named.
    pub(crate) ty: Option<TokenStream>,
    pub(crate) span: Span,
    /// Whether the type is spelled `Result<…>` or omitted, so that it cannot be a future.
    pub(crate) is_result: bool,
    /// The place and kind of the first future or stream in the type: see [`later`].
    pub(crate) later: Option<(Span, &'static str)>,
}

impl Returns {
    /// The return type `()` of a function that writes none. Errors about the type point at `span`.
    pub(super) fn nothing(span: Span) -> Self {
        Self {
            ty: Some(quote_spanned!(ours(span)=> ())),
            span,
            is_result: true,
            later: None,
        }
    }

    pub(super) fn of(ty: &Type) -> Self {
        let span = whole(ty);
        let later = later(ty);
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
            // The parentheses are necessary, because `<A + B as T>` is not a path.
            Type::TraitObject(_) => Some(quote_spanned!(ours(span)=> (#ty))),
            ty => Some(without_impl(ty.clone()).into_token_stream()),
        };
        Self {
            ty,
            span,
            is_result,
            later,
        }
    }
}

/// Finds the first future or stream in a return type. Its code would run after the call.
fn later(ty: &Type) -> Option<(Span, &'static str)> {
    let name = |path: &Path| match path.segments.last()?.ident.to_string().as_str() {
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
