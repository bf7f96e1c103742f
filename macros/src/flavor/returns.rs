//! The return type of a body.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::{
    GenericArgument, Path, PathArguments, Token, Type, TypeImplTrait, TypeInfer, TypeParamBound,
    TypeTraitObject,
};

use crate::tokens::{bare_type, find_word, last_word, ours, start};

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
        let mut ty = bare_type(ty).clone();
        let tokens = ty.to_token_stream();
        let span = start(&tokens);
        let later = later(&mut ty);
        let is_named = find_word(tokens.clone(), "impl").is_none();
        let is_checked = later.is_none() && is_named && !is_plain(&mut ty);
        erase(&mut ty);
        let ty = match ty {
            Type::Infer(_) | Type::Never(_) => None,
            // The parentheses are necessary, because `<A + B as T>` is not a path.
            Type::TraitObject(_) => Some(quote_spanned!(ours(span)=> (#ty))),
            _ if is_named => Some(tokens),
            ty => Some(ty.into_token_stream()),
        };
        Self {
            checked: ty.clone().filter(|_| is_checked),
            ty,
            span,
            later,
        }
    }
}

/// The types that a type directly consists of. They are mutable for [`erase`]; the others only look.
fn parts(ty: &mut Type) -> Vec<&mut Type> {
    match ty {
        Type::Path(path) => {
            let segments = path.path.segments.iter_mut();
            let arguments = segments.filter_map(|segment| match &mut segment.arguments {
                PathArguments::AngleBracketed(arguments) => Some(&mut arguments.args),
                _ => None,
            });
            let types = arguments.flatten().filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            types.collect()
        }
        Type::Tuple(tuple) => tuple.elems.iter_mut().collect(),
        Type::Reference(reference) => vec![&mut *reference.elem],
        Type::Slice(slice) => vec![&mut *slice.elem],
        Type::Array(array) => vec![&mut *array.elem],
        Type::Paren(paren) => vec![&mut *paren.elem],
        Type::Group(group) => vec![&mut *group.elem],
        _ => Vec::new(),
    }
}

/// Whether the spelling shows that a type neither is nor contains a future, as most return types do. Each check costs
/// compile time.
fn is_plain(ty: &mut Type) -> bool {
    // The error type of a `Result` is never a future.
    let mut considered = usize::MAX;
    let is_known = match ty {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last().is_some_and(|last| {
            let known = match last.arguments {
                PathArguments::AngleBracketed(_) => WRAPPERS,
                _ => PLAIN,
            };
            if last.ident == "Result" {
                considered = 1;
            }
            known.iter().any(|known| last.ident == known)
        }),
        Type::Never(_) | Type::Tuple(_) | Type::Reference(_) => true,
        Type::Slice(_) | Type::Array(_) | Type::Paren(_) | Type::Group(_) => true,
        _ => false,
    };
    is_known && parts(ty).into_iter().take(considered).all(is_plain)
}

const WRAPPERS: &[&str] = &["Result", "Option", "Vec", "Box", "Arc"];

const PLAIN: &[&str] = &[
    "String", "bool", "char", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "str",
    "u128", "u16", "u32", "u64", "u8", "usize",
];

/// Finds the first future or stream in a return type, which would run after the call.
fn later(ty: &mut Type) -> Option<(Span, &'static str)> {
    let name = |path: &Path| match &*last_word(path) {
        "Future" | "BoxFuture" | "LocalBoxFuture" => Some((start(path), "future")),
        "Stream" | "TryStream" | "BoxStream" | "LocalBoxStream" => Some((start(path), "stream")),
        _ => None,
    };
    let own = match ty {
        Type::ImplTrait(TypeImplTrait { bounds, .. })
        | Type::TraitObject(TypeTraitObject { bounds, .. }) => {
            bounds.iter().find_map(|bound| match bound {
                TypeParamBound::Trait(bound) => name(&bound.path),
                _ => None,
            })
        }
        Type::Path(path) => name(&path.path),
        _ => None,
    };
    own.or_else(|| parts(ty).into_iter().find_map(later))
}

/// Input:  `Result<impl Display, (A, impl Clone)>`
/// Output: `Result<_, (A, _)>`
fn erase(ty: &mut Type) {
    match ty {
        Type::ImplTrait(opaque) => {
            *ty = Type::Infer(TypeInfer {
                attrs: Vec::new(),
                underscore_token: Token![_](opaque.impl_token.span),
            });
        }
        ty => parts(ty).into_iter().for_each(erase),
    }
}
