//! Recognizes return types that are spelled as futures. The expansion itself rejects futures under other names
//! (`Expansion::return_check`).

use syn::{GenericArgument, PathArguments, PathSegment, Type, TypeParamBound};

use crate::tokens::bare_type;

/// The output of a future's type, and whether the type is boxed.
pub(super) fn output(ty: &Type) -> Option<(&Type, bool)> {
    match bare_type(ty) {
        Type::ImplTrait(opaque) => {
            let output = opaque.bounds.iter().find_map(bound_output)?;
            Some((output, false))
        }
        Type::Path(path) => {
            let segment = path.path.segments.last()?;
            let inner = argument(segment)?;
            match segment.ident.to_string().as_str() {
                "BoxFuture" | "LocalBoxFuture" => Some((inner, true)),
                "Pin" => Some((boxed_output(inner)?, true)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Input:  `Box<dyn Future<Output = T> + Send>`
/// Output: `T`
fn boxed_output(ty: &Type) -> Option<&Type> {
    let Type::Path(boxed) = bare_type(ty) else {
        return None;
    };
    let segment = boxed.path.segments.last()?;
    match bare_type(argument(segment)?) {
        Type::TraitObject(object) if segment.ident == "Box" => {
            object.bounds.iter().find_map(bound_output)
        }
        _ => None,
    }
}

/// Input:  `Future<Output = T>`
/// Output: `T`
fn bound_output(bound: &TypeParamBound) -> Option<&Type> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    let segment = bound.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    let output = arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(&assoc.ty),
        _ => None,
    });
    output.filter(|_| segment.ident == "Future")
}

/// The first type among the arguments.
fn argument(segment: &PathSegment) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}
