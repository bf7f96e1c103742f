//! Handlers that are closures, whose bodies are inserted in place.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprClosure, Pat, Result, ReturnType};

use super::answer::returned;
use super::body::Expansion;
use crate::args::is_awaited;
use crate::params::Argument;
use crate::tokens::{bare_expr, braced, moved, ours, quote_ours, start};

impl Expansion<'_> {
    /// Input:  `|month| Err(Busy(month))` for `on_timeout`
    /// Output: `{ let (month,) = (month,); Err(Busy(month)) }`
    pub(super) fn in_place(&self, option: &str, closure: &ExprClosure) -> Result<TokenStream> {
        if is_awaited(closure) && !self.awaits {
            let span = closure
                .asyncness
                .map_or_else(|| start(&closure.body), |token| token.span);
            return Err(Error::new(
                span,
                format!(
                    "a sync function cannot await its `{option}`: make the closure sync, or the function async"
                ),
            ));
        }
        let bindings = self.bindings(option, closure)?;
        // The statements of an async block are inserted in place, to run in the function's own future.
        let body = match bare_expr(&closure.body) {
            Expr::Async(block) => quiet(&block.block),
            Expr::Block(block) if block.label.is_none() => quiet(&block.block),
            body => body.to_token_stream(),
        };
        let body = match &closure.output {
            ReturnType::Default => body,
            ReturnType::Type(_, ty) => returned(quote_ours!(let __answer: #ty = #body; __answer)),
        };
        Ok(braced(quote!(#bindings #body), Span::mixed_site()).into_token_stream())
    }

    /// Input:  `|error, month|`
    /// Output: `let (error, month) = (__error, month);`
    fn bindings(&self, option: &str, closure: &ExprClosure) -> Result<TokenStream> {
        let inputs = &closure.inputs;
        let is_error = option == "on_error";
        if inputs.is_empty() && !is_error {
            return Ok(TokenStream::new());
        }
        let error = is_error.then(|| quote_ours!(__error));
        if is_error && inputs.len() == 1 {
            let input = &inputs[0];
            return Ok(quote_ours!(let #input = __error;));
        }
        // A parameter with `#[cfg(…)]` is not passed, because a closure's parameter list cannot be conditional. The
        // closure's body can still use it.
        let arguments: Vec<&Argument> = self
            .arguments
            .iter()
            .filter(|argument| argument.conditions.is_empty())
            .collect();
        // The closure may omit `self`, which its body can use because it is inserted into the method.
        let behind_self = &arguments[usize::from(self.has_self)..];
        let arguments = match inputs.len().checked_sub(usize::from(is_error)) {
            Some(n) if n == arguments.len() => &arguments,
            Some(n) if n == behind_self.len() => behind_self,
            _ => {
                let (begin, end) = (&closure.inputs_begin, &closure.inputs_end);
                return Err(Error::new_spanned(
                    quote!(#begin #inputs #end),
                    closure_forms(option, behind_self),
                ));
            }
        };
        let mut values: Vec<TokenStream> = error.into_iter().collect();
        let first = usize::from(is_error);
        for (argument, input) in arguments.iter().zip(inputs.iter().skip(first)) {
            // If the body has consumed the argument, the compiler reports the error at the closure's parameter, where
            // the mistake is.
            values.push(moved(argument.value.clone()?, start(input)));
        }
        let mut patterns = Vec::new();
        let mut types = Vec::new();
        for input in inputs {
            match input {
                Pat::Type(typed) => {
                    patterns.push(typed.pat.to_token_stream());
                    types.push(typed.ty.to_token_stream());
                }
                pattern => {
                    patterns.push(pattern.to_token_stream());
                    types.push(quote_ours!(_));
                }
            }
        }
        Ok(quote_ours! {
            #[allow(clippy::used_underscore_binding)]
            let (#(#patterns,)*): (#(#types,)*) = (#(#values,)*);
        })
    }
}

/// The error for a closure with another number of inputs.
fn closure_forms(option: &str, behind_self: &[&Argument]) -> String {
    let error = (option == "on_error").then(|| "error".to_owned());
    let shortest = format!("`|{}| …`", error.as_deref().unwrap_or_default());
    let names = behind_self.iter().map(|it| it.pattern.to_string());
    let names: Vec<String> = error.into_iter().chain(names).collect();
    let all = match format!("`|{}| …`", names.join(", ")) {
        all if all == shortest => String::new(),
        all => format!(", or with all arguments {all}"),
    };
    format!("a closure for `{option}` is written {shortest}{all}")
}

/// The block, with braces that have this crate's span, which exempts them from lints.
fn quiet(block: &syn::Block) -> TokenStream {
    let statements = block.stmts.iter().map(ToTokens::to_token_stream).collect();
    let span = ours(block.brace_token.span.join());
    braced(statements, span).into_token_stream()
}
