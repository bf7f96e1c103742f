//! Handlers, which run instead of the body: `skip`, `panic`, the path of a function, or a closure.

use proc_macro2::{Span, TokenStream};
use syn::{Error, Expr, ExprClosure, ExprPath, Result};

use super::word;
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
        /// The unambiguous path of the function in the block, if `path` could also mean another function.
        own: Option<TokenStream>,
    },
    /// Runs the closure's body in place.
    Closure(Box<ExprClosure>),
}

impl Handler {
    pub(crate) fn parse(option: &str, value: Expr) -> Result<Self> {
        match bare_expr(&value) {
            Expr::Path(path) if path.path.is_ident("skip") => {
                Ok(Self::Skip(path.path.segments[0].ident.span()))
            }
            Expr::Path(path) if path.path.is_ident("panic") => {
                Ok(Self::Panic(path.path.segments[0].ident.span()))
            }
            Expr::Path(path) if path.path.is_ident("None") => Err(Error::new_spanned(
                &value,
                format!(
                    "`None` is a value, not a function: write `{}`",
                    closure(option)
                ),
            )),
            Expr::Path(path) => Ok(Self::Path {
                path: path.clone(),
                own: None,
            }),
            Expr::Closure(closure) => Ok(Self::Closure(Box::new(closure.clone()))),
            Expr::Call(call) => Err(Error::new_spanned(
                &value,
                match bare_expr(&call.func) {
                    Expr::Path(_) => format!(
                        "name the function without calling it, or write a closure: `{}`",
                        closure(option)
                    ),
                    _ => forms(option),
                },
            )),
            Expr::Field(_) | Expr::MethodCall(_) => Err(Error::new_spanned(
                &value,
                format!(
                    "name a method by its path, as in `{}`, or write a closure: `{}`",
                    word::example(option).unwrap_or_default(),
                    closure(option)
                ),
            )),
            _ => Err(Error::new_spanned(&value, forms(option))),
        }
    }
}

/// Whether the closure returns a future, which has to be awaited.
pub(crate) fn is_awaited(closure: &ExprClosure) -> bool {
    closure.asyncness.is_some() || matches!(bare_expr(&closure.body), Expr::Async(_))
}

fn forms(option: &str) -> String {
    let closure = closure(option);
    format!("`{option}` takes the path of a function, a closure (`{closure}`), `skip` or `panic`")
}

/// An example of a closure for the option.
fn closure(option: &str) -> String {
    match option {
        "on_error" => "on_error = |error| …".to_owned(),
        _ => format!("{option} = || …"),
    }
}
