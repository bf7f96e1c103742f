//! Handlers, which run when there is no result of the body: `skip`, `panic`, the path of a function, or a closure.

use proc_macro2::{Span, TokenStream};
use syn::{Error, Expr, ExprClosure, ExprPath, Result};

use super::Word;
use crate::tokens::bare_expr;

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
    pub(super) fn parse(word: &Word, value: Expr) -> Result<Self> {
        let option = &*word.text;
        let message = match bare_expr(&value) {
            Expr::Path(path) => match path.path.get_ident() {
                Some(word) if word == "skip" => return Ok(Self::Skip(word.span())),
                Some(word) if word == "panic" => return Ok(Self::Panic(word.span())),
                Some(word) if word == "None" => format!(
                    "`None` is a value, not a function: write `{}`",
                    closure(option)
                ),
                _ => {
                    return Ok(Self::Path {
                        path: path.clone(),
                        own: None,
                    });
                }
            },
            Expr::Closure(closure) => return Ok(Self::Closure(Box::new(closure.clone()))),
            Expr::Call(call) if matches!(bare_expr(&call.func), Expr::Path(_)) => format!(
                "name the function without calling it, or write a closure: `{}`",
                closure(option)
            ),
            Expr::Field(_) | Expr::MethodCall(_) => format!(
                "name a method by its path, as in `{}`, or write a closure: `{}`",
                word.example,
                closure(option)
            ),
            _ => format!(
                "`{option}` takes the path of a function, a closure (`{}`), `skip` or `panic`",
                closure(option)
            ),
        };
        Err(Error::new_spanned(&value, message))
    }
}

/// Whether the closure returns a future, which has to be awaited.
pub(crate) fn is_awaited(closure: &ExprClosure) -> bool {
    closure.asyncness.is_some() || matches!(bare_expr(&closure.body), Expr::Async(_))
}

/// An example of a closure for the option.
fn closure(option: &str) -> String {
    match option {
        "on_error" => "on_error = |error| …".to_owned(),
        _ => format!("{option} = || …"),
    }
}
