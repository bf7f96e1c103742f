//! An `impl` or `trait` block: its header, and its members one by one.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{
    Attribute, Error, GenericParam, Generics, ImplItem, ItemImpl, ItemTrait, Result, Token,
    TraitItem, Type, TypeParamBound, Visibility,
};

use super::Function;
use crate::tokens::{bare_type, braced};

/// A block of functions.
pub(crate) struct Block {
    /// Of the block, `#![…]` among them.
    pub(crate) attrs: Vec<Attribute>,
    /// Everything before the braces.
    header: TokenStream,
    span: Span,
    /// The type's bare identifier, if the header spells one.
    pub(crate) owner: Option<String>,
    pub(crate) members: Vec<Member>,
}

/// One item of a block.
pub(crate) enum Member {
    Function(Box<Function>),
    /// A constant, a type, a macro call.
    Other(TokenStream),
}

impl Block {
    /// The same block with these members.
    pub(crate) fn with_members(&self, members: TokenStream) -> TokenStream {
        let Self {
            attrs,
            header,
            span,
            ..
        } = self;
        let body = braced(members, *span);
        quote!(#(#attrs)* #header #body)
    }
}

impl Parse for Block {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let start = input.span();
        let mut header = TokenStream::new();
        let braces = loop {
            if input.is_empty() {
                return Err(Error::new(start, "expected a block with `{ … }`"));
            }
            match input.parse::<TokenTree>()? {
                TokenTree::Group(group)
                    if group.delimiter() == Delimiter::Brace && input.is_empty() =>
                {
                    break group;
                }
                token => header.extend([token]),
            }
        };
        let kind = Kind::parse(header.clone())?;
        let is_trait = matches!(kind, Kind::Trait);
        let (inner, members) =
            (|input: ParseStream| members(input, is_trait)).parse2(braces.stream())?;
        attrs.extend(inner);
        Ok(Self {
            attrs,
            header,
            span: braces.span(),
            owner: kind.owner(),
            members,
        })
    }
}

enum Kind {
    Impl(Box<Generics>, Box<Type>),
    Trait,
}

impl Kind {
    /// The header is parsed with empty braces behind it.
    fn parse(header: TokenStream) -> Result<Self> {
        let empty = Group::new(Delimiter::Brace, TokenStream::new());
        let tokens = quote!(#header #empty);
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
            syn::parse2::<ItemTrait>(tokens)?;
            Ok(Self::Trait)
        } else {
            let item: ItemImpl = syn::parse2(tokens)?;
            Ok(Self::Impl(Box::new(item.generics), item.self_ty))
        }
    }

    fn owner(&self) -> Option<String> {
        let Self::Impl(generics, ty) = self else {
            return None;
        };
        let name = identifier(ty)?;
        let is_parameter = generics.params.iter().any(|param| match param {
            GenericParam::Type(param) => param.ident == name,
            _ => false,
        });
        (!is_parameter).then_some(name)
    }
}

/// Input:  `&mut crate::billing::Ledger<'a, T>`
/// Output: `Ledger`
///
/// `None` where only the compiler knows (a tuple, a slice): then the runtime asks it.
fn identifier(ty: &Type) -> Option<String> {
    use syn::ext::IdentExt;
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

fn members(input: ParseStream, is_trait: bool) -> Result<(Vec<Attribute>, Vec<Member>)> {
    let inner = input.call(Attribute::parse_inner)?;
    let attrs = inner
        .into_iter()
        .map(|attribute| Attribute {
            style: syn::AttrStyle::Outer,
            ..attribute
        })
        .collect();
    let mut members = Vec::new();
    while !input.is_empty() {
        let head = input.fork();
        head.call(Attribute::parse_outer)?;
        head.parse::<Visibility>()?;
        members.push(if Function::is_next(&head) {
            Member::Function(Box::new(input.parse()?))
        } else if is_trait {
            Member::Other(input.parse::<TraitItem>()?.into_token_stream())
        } else {
            Member::Other(input.parse::<ImplItem>()?.into_token_stream())
        });
    }
    Ok((attrs, members))
}
