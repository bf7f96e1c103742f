//! The annotated item: a function, or a block of functions.
//!
//! Only signatures are parsed. Bodies stay tokens, so they may contain anything that the compiler understands, and
//! half-written code gets the compiler's own errors.

mod bare;
mod block;
mod function;
mod header;
mod marks;
mod other;

use proc_macro2::{Ident, Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{AttrStyle, Attribute, Error, Result, Visibility};

use crate::kind::Kind;

pub(crate) use block::{Block, Member};
pub(crate) use function::{Body, Function};
pub(crate) use header::{Header, Named};
pub(crate) use marks::{Marks, is_mark, second_mark};
pub(crate) use other::Other;

/// An item that can be annotated.
pub(crate) enum Item {
    Function(Box<Function>),
    Block(Box<Block>),
}

impl Item {
    pub(crate) fn parse(kind: Kind, tokens: TokenStream) -> Result<Self> {
        let parse = |tokens| (|input: ParseStream| Self::read(kind, input)).parse2(tokens);
        parse(tokens.clone()).or_else(|error| parse(bare::with_dyn(tokens)).map_err(|_| error))
    }

    fn read(kind: Kind, input: ParseStream) -> Result<Self> {
        let head = input.fork();
        head.call(Attribute::parse_outer)?;
        head.parse::<Visibility>()?;
        let start = head.span();
        if Function::is_next(&head) {
            return input
                .parse()
                .map(|function| Self::Function(Box::new(function)));
        }
        let next = || {
            head.call(Ident::parse_any)
                .map_err(|_| refused(kind, start))
        };
        let mut word = next()?;
        while ["unsafe", "default", "auto"].iter().any(|it| word == it) {
            word = next()?;
        }
        if kind == Kind::Leader || word != "impl" && word != "trait" {
            return Err(refused(kind, word.span()));
        }
        input.parse().map(|block| Self::Block(Box::new(block)))
    }
}

/// The attributes before an item, and those at the beginning of its braces (`#![…]`).
pub(crate) fn outer_and_inner(attrs: &[Attribute]) -> (Vec<&Attribute>, Vec<&Attribute>) {
    attrs
        .iter()
        .partition(|it| matches!(it.style, AttrStyle::Outer))
}

/// The error for an item that can't be annotated.
fn refused(kind: Kind, span: Span) -> Error {
    let attribute = kind.word();
    let why = match kind {
        Kind::Leader => "cannot lead with this: put it on the function that the leader runs",
        _ => {
            "cannot lock this: put it on a function, or on the `impl` or `trait` block whose functions it should protect"
        }
    };
    Error::new(span, format!("`#[{attribute}]` {why}"))
}
