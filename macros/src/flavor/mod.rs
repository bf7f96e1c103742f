//! The flavor of a function: whether its body runs during the call or in a future, and what it returns.

mod block;
mod future;
mod returns;

use proc_macro2::TokenStream;
use syn::ReturnType;

pub(crate) use block::AsyncBlock;
pub(crate) use returns::Returns;

use crate::item::{Body, Function};

/// How a body runs.
pub(crate) enum Flavor {
    /// During the call.
    Sync,
    /// In the future of an `async fn`.
    Async,
    /// A function whose body is just an async block, as `#[async_trait]` leaves it.
    Block(AsyncBlock),
    /// A function that makes a future in another way. Its own code runs during the call, and the lock can only protect
    /// the future.
    Made { boxed: bool },
}

impl Flavor {
    pub(crate) fn of(function: &Function, body: &Body) -> (Self, Returns) {
        let sig = &function.sig;
        let plain = if sig.asyncness.is_some() {
            Self::Async
        } else {
            Self::Sync
        };
        let ReturnType::Type(_, ty) = &sig.output else {
            return (plain, Returns::nothing(sig.ident.span()));
        };
        match (&plain, future::output(ty)) {
            (Self::Sync, Some((output, boxed))) => {
                let flavor = match AsyncBlock::find(&body.tokens) {
                    Some(block) => Self::Block(block),
                    None => Self::Made { boxed },
                };
                (flavor, Returns::of(output))
            }
            _ => (plain, Returns::of(ty)),
        }
    }

    pub(crate) fn is_sync(&self) -> bool {
        matches!(self, Self::Sync)
    }

    /// Whether an attribute of this crate has expanded the body before.
    pub(crate) fn is_protected(&self, body: &Body) -> bool {
        let tokens: &TokenStream = match self {
            Self::Block(block) => &block.body.tokens,
            _ => &body.tokens,
        };
        let words = tokens.clone().into_iter().take(3);
        let words: Vec<String> = words.map(|token| token.to_string()).collect();
        words.first().is_some_and(|first| first == "let")
            && words[1..]
                .iter()
                .any(|word| word == "__request" || word == "__call")
    }
}
