//! An `impl` or `trait` block: its header, and its members.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Result, Visibility};

use super::{Function, Header, Other, outer_and_inner};
use crate::tokens::braced;

/// A block of functions.
pub(crate) struct Block {
    /// The attributes of the block, including inner ones (`#![…]`).
    pub(crate) attrs: Vec<Attribute>,
    /// Everything between the attributes and the braces.
    head: TokenStream,
    pub(crate) header: Header,
    span: Span,
    pub(crate) members: Vec<Member>,
}

/// One item of a block.
pub(crate) enum Member {
    Function(Box<Function>),
    Other(Other),
}

impl Member {
    pub(crate) fn is_macro(&self) -> bool {
        matches!(self, Self::Other(other) if other.is_macro())
    }
}

impl Block {
    /// The same block with these members.
    pub(crate) fn with_members(&self, members: TokenStream) -> TokenStream {
        let (outer, inner) = outer_and_inner(&self.attrs);
        let (head, body) = (&self.head, braced(quote!(#(#inner)* #members), self.span));
        quote!(#(#outer)* #head #body)
    }
}

impl Parse for Block {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let start = input.span();
        let mut head = TokenStream::new();
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
                token => head.extend([token]),
            }
        };
        let header = Header::parse(head.clone())?;
        let (inner, members) = members.parse2(braces.stream())?;
        attrs.extend(inner);
        Ok(Self {
            attrs,
            head,
            header,
            span: braces.span(),
            members,
        })
    }
}

fn members(input: ParseStream) -> Result<(Vec<Attribute>, Vec<Member>)> {
    let attrs = input.call(Attribute::parse_inner)?;
    let mut members = Vec::new();
    while !input.is_empty() {
        let head = input.fork();
        head.call(Attribute::parse_outer)?;
        head.parse::<Visibility>()?;
        members.push(if Function::is_next(&head) {
            Member::Function(Box::new(input.parse()?))
        } else {
            Member::Other(Other::parse(input)?)
        });
    }
    Ok((attrs, members))
}
