//! Items of a block that are not functions: constants, types, macro calls. They may contain functions that no lock can
//! protect.

use proc_macro2::{Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::ParseStream;
use syn::{Attribute, ImplItem, Result, TraitItem};

use super::Header;
use super::marks::Marks;
use crate::errors::Errors;
use crate::kind::Kind;
use crate::tokens::start;

/// An item of a block that is not a function.
pub(crate) struct Other {
    attrs: Vec<Attribute>,
    item: TokenStream,
    hides: Option<Hides>,
}

/// Where an unprotected function may be.
enum Hides {
    /// In the expansion of a macro.
    Macro,
    /// In a constant, at this span.
    Code(Span),
}

impl Other {
    pub(super) fn parse(input: ParseStream, is_trait: bool) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let (is_macro, item) = if is_trait {
            let item: TraitItem = input.parse()?;
            (
                matches!(item, TraitItem::Macro(_)),
                item.into_token_stream(),
            )
        } else {
            let item: ImplItem = input.parse()?;
            (matches!(item, ImplItem::Macro(_)), item.into_token_stream())
        };
        let hides = if is_macro {
            Some(Hides::Macro)
        } else {
            code(item.clone()).map(Hides::Code)
        };
        Ok(Self { attrs, item, hides })
    }

    pub(super) fn is_macro(&self) -> bool {
        matches!(self.hides, Some(Hides::Macro))
    }

    /// Returns the item's tokens. Reports an error if the item may contain a function and lacks `#[no_auto_mutex]`.
    pub(crate) fn expand(
        mut self,
        kind: Kind,
        explicit: bool,
        header: &Header,
        errors: &mut Errors,
    ) -> TokenStream {
        let marks = Marks::take_no_lock(&mut self.attrs, errors);
        match &self.hides {
            Some(hides) if !marks.left_out && !explicit => {
                hides.refuse(&self.item, kind, header, errors);
            }
            None if marks.left_out => errors.at(
                start(&self.item),
                "nothing here takes a lock: remove `#[no_auto_mutex]`",
            ),
            _ => {}
        }
        let passed = marks.passed;
        let Self { attrs, item, .. } = self;
        quote!(#passed #(#attrs)* #item)
    }
}

impl Hides {
    fn refuse(&self, item: &TokenStream, kind: Kind, header: &Header, errors: &mut Errors) {
        let attribute = kind.word();
        match self {
            Self::Macro if header.is_divisible() => errors.on(
                item,
                format!(
                    "functions that a macro makes would run without the lock: write them out, or move the call to an `impl` block without `#[{attribute}]`, \
                     or add `#[auto_mutex::no_auto_mutex]` to it and annotate the functions inside the macro"
                ),
            ),
            Self::Macro => errors.on(
                item,
                "functions that a macro makes would run without the lock: write them out, \
                 or add `#[auto_mutex::no_auto_mutex]` to the call and annotate the functions inside the macro",
            ),
            Self::Code(span) => errors.at(
                *span,
                "code in a constant would run without the lock: make it a function of the block and name that, \
                 or add `#[auto_mutex::no_auto_mutex]` to the constant",
            ),
        }
    }
}

/// The span of the first function or closure.
fn code(tokens: TokenStream) -> Option<Span> {
    let mut before: Option<TokenTree> = None;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Group(group) => {
                if let Some(span) = code(group.stream()) {
                    return Some(span);
                }
            }
            // `fn(…)` without a name is a type.
            TokenTree::Ident(word) if word == "fn" => {
                if let Some(TokenTree::Ident(_)) = tokens.peek() {
                    return Some(word.span());
                }
            }
            TokenTree::Punct(bar) if bar.as_char() == '|' => {
                if before.as_ref().is_none_or(comes_before_a_value) {
                    return Some(bar.span());
                }
                // Skip the second bar of `||`, which is an operator here.
                if bar.spacing() == Spacing::Joint {
                    tokens.next();
                }
            }
            _ => {}
        }
        before = Some(token);
    }
    None
}

/// Whether an expression can follow `token`. If so, `|` begins a closure; otherwise it is an operator.
fn comes_before_a_value(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(word) => ["move", "async", "static", "return", "break"]
            .iter()
            .any(|before| word == before),
        TokenTree::Punct(punct) => punct.as_char() != '?',
        TokenTree::Group(_) | TokenTree::Literal(_) => false,
    }
}
