//! Handlers, which run when there is no result of the body: `skip`, `panic`, the path of a function, or a closure.

use proc_macro2::{Span, TokenStream};
use syn::{Expr, ExprClosure, ExprPath, Result};

use super::Given;
use crate::tokens::{bare_expr, start};

/// The value of `on_timeout` or `on_error`.
#[derive(Clone)]
pub(crate) enum Handler {
    /// Returns the default of the return type.
    Skip(Span),
    /// Panics with the error's text.
    Panic(Span),
    /// Calls a function.
    Path {
        path: ExprPath,
        /// An unambiguous path of the function in the block, if `path` could also mean another function.
        own: Option<TokenStream>,
    },
    /// Runs the closure's body in place.
    Closure(Box<ExprClosure>),
}

impl Handler {
    pub(super) fn parse(given: &Given, value: Expr) -> Result<Self> {
        let closure = match given.row.name {
            "on_error" => "|error| …",
            _ => "|| …",
        };
        Ok(match bare_expr(&value) {
            Expr::Path(path) if path.path.is_ident("skip") => Self::Skip(start(path)),
            Expr::Path(path) if path.path.is_ident("panic") => Self::Panic(start(path)),
            Expr::Path(path) if !path.path.is_ident("None") => Self::Path {
                path: path.clone(),
                own: None,
            },
            Expr::Closure(closure) => Self::Closure(Box::new(closure.clone())),
            _ => {
                let what = format!(
                    "takes the path of a function without parentheses, a closure (`{closure}`), `skip` or `panic`"
                );
                return Err(given.error(&value, &what));
            }
        })
    }
}

/// Whether the closure returns a future, which has to be awaited.
pub(crate) fn is_awaited(closure: &ExprClosure) -> bool {
    closure.asyncness.is_some() || matches!(bare_expr(&closure.body), Expr::Async(_))
}
