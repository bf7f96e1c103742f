//! The header of a block: its type or trait, and which paths mean one of its functions.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{
    ExprPath, GenericParam, Generics, ItemImpl, ItemTrait, Path, PathArguments, Result, Token,
    Type, TypeParamBound, Visibility,
};

use crate::tokens::{bare_type, words};

/// The type or trait that the functions of a block belong to.
pub(crate) enum Header {
    /// `impl Type`
    Own { generics: Generics, ty: Type },
    /// `impl Trait for Type`
    Implementation {
        generics: Generics,
        of: Path,
        ty: Type,
    },
    /// `trait Trait`, with the names of its parameters.
    Trait(TokenStream),
}

/// What a path means that ends with the name of a function of the block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// The function of the block.
    This,
    /// The function of the block, unless the type has another function of that name outside the trait.
    OfType,
    /// A function that only the compiler can determine.
    Unclear,
    /// Another function.
    Another,
}

impl Header {
    /// Parses the header. Appends empty braces, because syn parses only complete blocks.
    pub(super) fn parse(head: TokenStream) -> Result<Self> {
        let empty = Group::new(Delimiter::Brace, TokenStream::new());
        let tokens = quote!(#head #empty);
        let is_trait = |input: ParseStream| {
            input.parse::<Visibility>()?;
            while !input.is_empty() && !input.peek(Token![trait]) && !input.peek(Token![impl]) {
                input.parse::<TokenTree>()?;
            }
            let found = input.peek(Token![trait]);
            input.parse::<TokenStream>()?;
            Ok(found)
        };
        if is_trait.parse2(tokens.clone())? {
            let item: ItemTrait = syn::parse2(tokens)?;
            let (ident, (_, parameters, _)) = (&item.ident, item.generics.split_for_impl());
            return Ok(Self::Trait(quote!(#ident #parameters)));
        }
        let item: ItemImpl = syn::parse2(tokens)?;
        let (generics, ty) = (item.generics, *item.self_ty);
        Ok(match item.trait_ {
            Some((of, _)) => Self::Implementation { generics, of, ty },
            None => Self::Own { generics, ty },
        })
    }

    pub(crate) fn is_trait(&self) -> bool {
        matches!(self, Self::Trait(_))
    }

    /// The bare identifier of the block's type. `None` for a trait, a type parameter, or a type without an identifier.
    pub(crate) fn owner(&self) -> Option<String> {
        let (Self::Own { generics, ty } | Self::Implementation { generics, ty, .. }) = self else {
            return None;
        };
        let name = identifier(ty)?;
        let is_parameter = generics.params.iter().any(|param| match param {
            GenericParam::Type(param) => param.ident == name,
            _ => false,
        });
        (!is_parameter).then_some(name)
    }

    /// The meaning of `path`, whose last word is the name of a function of this block.
    pub(crate) fn named_by(&self, path: &ExprPath) -> Named {
        let segments = &path.path.segments;
        let (leading, last) = (path.path.leading_colon, segments.len() - 1);
        let before = |end: usize| {
            let segments = segments.iter().take(end);
            quote!(#leading #(#segments)::*)
        };
        match &path.qself {
            // A single word means another function, because associated functions cannot be imported.
            None if last == 0 => Named::Another,
            None if self.is_own_path(&before(last)) => self.of_type(),
            None => Named::Unclear,
            // `<Type>::function`
            Some(qself) if qself.position == 0 && last == 0 => {
                if self.is_own_type(&qself.ty) {
                    self.of_type()
                } else {
                    Named::Unclear
                }
            }
            // `<Type as Trait>::function`
            Some(qself) if qself.position == last => match self {
                Self::Own { .. } => Named::Another,
                _ if self.is_own_type(&qself.ty) && self.is_own_trait(&before(last)) => Named::This,
                _ => Named::Unclear,
            },
            Some(_) => Named::Unclear,
        }
    }

    /// The unambiguous path of a function of this block.
    pub(crate) fn path_of(&self, function: &Ident) -> TokenStream {
        match self.own_trait() {
            Some(path) => quote!(<Self as #path>::#function),
            None => quote!(Self::#function),
        }
    }

    /// Like [`path_of`](Self::path_of), for a message.
    pub(crate) fn spelled(&self, function: &str) -> String {
        match self.own_trait() {
            Some(path) => format!("<Self as {}>::{function}", words(path).concat()),
            None => format!("Self::{function}"),
        }
    }

    fn of_type(&self) -> Named {
        match self {
            Self::Implementation { .. } => Named::OfType,
            _ => Named::This,
        }
    }

    /// Whether the path before `::function` is the block's type, with or without its parameters.
    fn is_own_path(&self, path: &TokenStream) -> bool {
        let path = words(path.clone());
        path == ["Self"]
            || self.ty().is_some_and(|ty| {
                path == words(ty.to_token_stream())
                    || without_parameters(ty).is_some_and(|ty| path == words(ty))
            })
    }

    fn is_own_type(&self, ty: &Type) -> bool {
        let written = words(bare_type(ty).to_token_stream());
        written == ["Self"]
            || self
                .ty()
                .is_some_and(|ty| written == words(ty.to_token_stream()))
    }

    fn is_own_trait(&self, path: &TokenStream) -> bool {
        let own = self.own_trait();
        own.is_some_and(|own| words(path.clone()) == words(own))
    }

    fn own_trait(&self) -> Option<TokenStream> {
        match self {
            Self::Own { .. } => None,
            Self::Implementation { of, .. } => Some(of.to_token_stream()),
            Self::Trait(path) => Some(path.clone()),
        }
    }

    fn ty(&self) -> Option<&Type> {
        match self {
            Self::Own { ty, .. } | Self::Implementation { ty, .. } => Some(bare_type(ty)),
            Self::Trait(_) => None,
        }
    }
}

/// Input:  `&mut crate::billing::Ledger<'a, T>`
/// Output: `Ledger`
///
/// `None` for types without an identifier (tuples, slices): the runtime asks the compiler for their names.
fn identifier(ty: &Type) -> Option<String> {
    let path = match bare_type(ty) {
        Type::Reference(reference) => return identifier(&reference.elem),
        Type::Path(path) if path.qself.is_none() => &path.path,
        Type::TraitObject(object) => object.bounds.iter().find_map(|bound| match bound {
            TypeParamBound::Trait(bound) => Some(&bound.path),
            _ => None,
        })?,
        _ => return None,
    };
    path.segments
        .last()
        .map(|segment| segment.ident.unraw().to_string())
}

/// Input:  `billing::Ledger<'a, T>`
/// Output: `billing::Ledger`
fn without_parameters(ty: &Type) -> Option<TokenStream> {
    let Type::Path(path) = ty else { return None };
    let mut path = path.clone();
    for segment in &mut path.path.segments {
        segment.arguments = PathArguments::None;
    }
    path.qself.is_none().then(|| path.into_token_stream())
}
