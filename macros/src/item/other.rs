//! Items of a block that are not functions: constants, types, macro calls. They may contain functions that no lock can
//! protect.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::ParseStream;
use syn::{Attribute, ImplItem, Result};

use super::marks::Marks;
use crate::errors::Errors;
use crate::tokens::start;

/// An item of a block that is not a function.
pub(crate) struct Other {
    attrs: Vec<Attribute>,
    item: TokenStream,
    is_macro: bool,
}

const MACRO: &str = "functions that a macro makes would run without the lock: write them out, \
    or add `#[auto_mutex::no_auto_mutex]` to the call and annotate the functions inside the macro";
const CODE: &str = "code in a constant would run without the lock: make it a function of the block and name that, \
    or add `#[auto_mutex::no_auto_mutex]` to the constant";

impl Other {
    /// Parses an item of an `impl` or `trait` block: syn's items of impls may lack a value, as those of traits do.
    pub(super) fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let item: ImplItem = input.parse()?;
        Ok(Self {
            attrs,
            is_macro: matches!(item, ImplItem::Macro(_)),
            item: item.into_token_stream(),
        })
    }

    pub(super) fn is_macro(&self) -> bool {
        self.is_macro
    }

    /// Returns the item's tokens. Reports an error if the item may contain a function and lacks `#[no_auto_mutex]`.
    pub(crate) fn expand(mut self, explicit: bool, errors: &mut Errors) -> TokenStream {
        let marks = Marks::take_no_lock(&mut self.attrs, errors);
        let Self { attrs, item, .. } = self;
        let hidden = match self.is_macro {
            true => Some((item.clone(), MACRO)),
            false => code(item.clone()).map(|code| (code.into(), CODE)),
        };
        match hidden {
            Some((code, why)) if !marks.left_out && !explicit => errors.on(code, why),
            None if marks.left_out => errors.at(
                start(&item),
                "nothing here takes a lock: remove `#[no_auto_mutex]`",
            ),
            _ => {}
        }
        let passed = marks.passed;
        quote!(#passed #(#attrs)* #item)
    }
}

/// The beginning of the first function or closure.
fn code(tokens: TokenStream) -> Option<TokenTree> {
    let mut before: Option<TokenTree> = None;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Group(group) => {
                if let Some(code) = code(group.stream()) {
                    return Some(code);
                }
            }
            // `fn(…)` without a name is a type.
            TokenTree::Ident(word) if word == "fn" => {
                if let Some(TokenTree::Ident(_)) = tokens.peek() {
                    return Some(token);
                }
            }
            TokenTree::Punct(bar) if bar.as_char() == '|' => {
                if before.as_ref().is_none_or(comes_before_a_value) {
                    return Some(token);
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
