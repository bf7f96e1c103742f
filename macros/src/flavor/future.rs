//! Recognizes return types that are spelled as futures. The expansion itself rejects futures under other names
//! (`Expansion::return_check`).

use syn::{GenericArgument, PathArguments, Type, TypeParamBound, TypePath};

use crate::tokens::bare_type;

/// The output of a future's type, and whether the type is boxed.
pub(super) fn output(ty: &Type) -> Option<(&Type, bool)> {
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
