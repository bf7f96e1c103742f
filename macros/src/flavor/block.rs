//! Bodies that are exactly an async block.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::quote;

use crate::item::Body;

/// `async move { … }`, possibly in `Box::pin(…)`.
pub(crate) struct AsyncBlock {
    pub(crate) body: Body,
    /// `Box::pin` and the span of its parentheses.
    pub(crate) pin: Option<(TokenStream, Span)>,
}

impl AsyncBlock {
    /// Input:  `future`
    /// Output: `Box::pin(future)` if the block was in `Box::pin(…)`
    pub(crate) fn pinned(&self, future: TokenStream) -> TokenStream {
        let Some((pin, place)) = &self.pin else {
            return future;
        };
        let mut call = Group::new(Delimiter::Parenthesis, future);
        call.set_span(*place);
        let call = TokenTree::from(call);
        quote!(#pin #call)
    }

    /// Input:  `Box::pin(async move { a; b })`
    /// Output: `a; b` and `Box::pin`
    pub(super) fn find(tokens: &TokenStream) -> Option<Self> {
        if let Some(body) = async_block(tokens.clone()) {
            return Some(Self { body, pin: None });
        }
        let mut path: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let TokenTree::Group(call) = path.pop()? else {
            return None;
        };
        let is_path = path.iter().all(|token| match token {
            TokenTree::Ident(_) => true,
            TokenTree::Punct(punct) => punct.as_char() == ':',
            _ => false,
        });
        let pins = path.last().is_some_and(|last| last.to_string() == "pin")
            && path
                .iter()
                .rev()
                .nth(3)
                .is_some_and(|owner| owner.to_string() == "Box");
        if call.delimiter() != Delimiter::Parenthesis || !is_path || !pins {
            return None;
        }
        let body = async_block(call.stream())?;
        Some(Self {
            body,
            pin: Some((path.into_iter().collect(), call.span())),
        })
    }
}

/// Input:  `async move { a; b }`
/// Output: `a; b`
fn async_block(tokens: TokenStream) -> Option<Body> {
    let mut tokens = tokens.into_iter();
    if tokens.next()?.to_string() != "async" {
        return None;
    }
    let mut next = tokens.next()?;
    if next.to_string() == "move" {
        next = tokens.next()?;
    }
    let TokenTree::Group(body) = next else {
        return None;
    };
    let rest = tokens.collect::<TokenStream>().to_string();
    (body.delimiter() == Delimiter::Brace && matches!(rest.as_str(), "" | ",")).then(|| Body {
        tokens: body.stream(),
        span: body.span(),
    })
}
