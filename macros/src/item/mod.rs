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
use syn::{Attribute, Error, Result, Token, Visibility};

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
        let refused = |span, what| refused(kind, span, what);
        let head = input.fork();
        head.call(Attribute::parse_outer)?;
        let visible = !matches!(head.parse()?, Visibility::Inherited);
        let start = head.span();
        if Function::is_next(&head) {
            return input
                .parse()
                .map(|function| Self::Function(Box::new(function)));
        }
        let mut word = head
            .call(Ident::parse_any)
            .map_err(|_| refused(start, "this"))?;
        while matches!(word.to_string().as_str(), "unsafe" | "default" | "auto")
            && head.peek(Ident::peek_any)
        {
            word = head.call(Ident::parse_any)?;
        }
        match word.to_string().as_str() {
            "impl" | "trait" if kind == Kind::Leader => Err(refused(word.span(), "a block")),
            "impl" | "trait" => input.parse().map(|block| Self::Block(Box::new(block))),
            "struct" => Err(refused(word.span(), "a struct")),
            "enum" => Err(refused(word.span(), "an enum")),
            "union" if visible || head.peek(syn::Ident) => Err(refused(word.span(), "a union")),
            "mod" => Err(refused(word.span(), "a module")),
            "extern" => Err(refused(word.span(), "an extern block")),
            "const" => Err(refused(word.span(), "a constant")),
            "static" => Err(refused(word.span(), "a static")),
            "type" => Err(refused(word.span(), "a type alias")),
            "use" => Err(refused(word.span(), "an import")),
            "let" => Err(refused(word.span(), "a statement")),
            _ if head.peek(Token![!]) => Err(refused(word.span(), "a macro call")),
            _ => Err(refused(word.span(), "this")),
        }
    }
}

fn refused(kind: Kind, span: Span, what: &str) -> Error {
    let attribute = kind.word();
    let why = match kind {
        Kind::Leader => {
            format!("cannot lead with {what}: put it on the function that the leader runs")
        }
        _ => format!(
            "cannot lock {what}: put it on a function, or on the `impl` or `trait` block whose functions it should protect"
        ),
    };
    Error::new(span, format!("`#[{attribute}]` {why}"))
}
