//! What is returned when the lock was not obtained or not kept: the handlers, or the return type itself.

use proc_macro2::{Group, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Error, Expr, ExprClosure, ExprPath, Pat, Result, ReturnType};

use crate::args::{Handler, Options, is_awaited};
use crate::flavor::Returns;
use crate::tokens::{bare_expr, braced, ours, private, private_at, start, whole};

/// Everything that the answers of a function depend on.
pub(crate) struct Answers<'a> {
    pub(crate) options: &'a Options,
    pub(crate) returns: &'a Returns,
    /// The function's own arguments; `None` if a pattern hides one (then nothing here needs them).
    pub(crate) arguments: Result<Vec<TokenStream>>,
    pub(crate) has_self: bool,
    /// Whether the answer is given in a future.
    pub(crate) awaits: bool,
}

impl Answers<'_> {
    /// The arms behind `Ok`, for a `match` on a `Result<_, LockError>`.
    pub(crate) fn arms(&self) -> Result<TokenStream> {
        let span = Span::mixed_site();
        let private = private(self.options.runtime.as_ref());
        let timeout = self.timeout_arm(|answer| answer)?;
        let error = self.error()?;
        Ok(quote_spanned!(span=> #timeout #private::Err(__error) => #error,))
    }

    /// The arm for a timeout, where it is answered in another way than other errors.
    pub(crate) fn timeout_arm(
        &self,
        wrap: impl Fn(TokenStream) -> TokenStream,
    ) -> Result<Option<TokenStream>> {
        let answer = match &self.options.on_timeout {
            Some(handler) => self.handle("on_timeout", handler)?,
            // `on_error` answers every error but this one.
            None if self.options.on_error.is_some() => self.carried()?,
            None => return Ok(None),
        };
        let span = Span::mixed_site();
        let private = private(self.options.runtime.as_ref());
        let answer = wrap(answer);
        Ok(Some(quote_spanned! {span=>
            #private::Err(__error) if #private::is_timeout(&__error) => #answer,
        }))
    }

    /// The answer to `__error`.
    pub(crate) fn error(&self) -> Result<TokenStream> {
        match &self.options.on_error {
            Some(handler) => self.handle("on_error", handler),
            None => self.carried(),
        }
    }

    /// `<R as FromLockError>::from_lock_error(__error)`
    fn carried(&self) -> Result<TokenStream> {
        let Some(ty) = &self.returns.ty else {
            return Err(Error::new(
                self.returns.span,
                "this return type cannot carry a `LockError`: add both `on_timeout = …` and `on_error = …`, \
                 or return a `Result` whose error implements `From<LockError>`",
            ));
        };
        let private = self.private_at(self.returns.span);
        let span = ours(self.returns.span);
        Ok(quote_spanned!(span=> <#ty as #private::FromLockError>::from_lock_error(__error)))
    }

    fn handle(&self, option: &str, handler: &Handler) -> Result<TokenStream> {
        match handler {
            Handler::Skip(span) => self.skip(*span),
            Handler::Panic(span) => {
                let private = self.private_at(*span);
                let span = ours(*span);
                Ok(quote_spanned!(span=> #private::panic(__error)))
            }
            Handler::Path(path) => self.call(option, path),
            Handler::Closure(closure) => self.in_place(option, closure),
        }
    }

    fn skip(&self, span: Span) -> Result<TokenStream> {
        let Some(ty) = &self.returns.ty else {
            return Err(Error::new(
                span,
                "this return type has no default to return: write a closure, `|| …`",
            ));
        };
        let private = self.private_at(span);
        let span = ours(span);
        Ok(quote_spanned!(span=> <#ty as #private::Skip<_>>::skip()))
    }

    /// Input:  `Self::busy` for `on_timeout`
    /// Output: `return { Self::busy(self, month) }`; in a future `answer(Self::busy(self, month)).await`
    fn call(&self, option: &str, path: &ExprPath) -> Result<TokenStream> {
        let arguments = match option {
            "on_timeout" => self.arguments.clone()?,
            _ => vec![quote_spanned!(Span::mixed_site()=> __error)],
        };
        let span = whole(path);
        // Errors about the call point at the path, not at the attribute.
        let mut list = Group::new(proc_macro2::Delimiter::Parenthesis, quote!(#(#arguments),*));
        list.set_span(ours(span));
        if !self.awaits {
            // Returned, so that an answer of another type is compared with the return type.
            return Ok(returned(quote!(#path #list)));
        }
        let private = self.private_at(span);
        let span = ours(span);
        let ty = match &self.returns.ty {
            Some(ty) => ty.clone(),
            None => quote_spanned!(span=> _),
        };
        Ok(quote_spanned!(span=> #private::answer::<_, #ty, _>(#path #list).await))
    }

    /// Input:  `|month| Err(Busy(month))` for `on_timeout`
    /// Output: `{ let (month,) = (month,); Err(Busy(month)) }`
    fn in_place(&self, option: &str, closure: &ExprClosure) -> Result<TokenStream> {
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
        let span = Span::mixed_site();
        let bindings = self.bindings(option, closure)?;
        // Awaited in place, an async block runs as part of this future.
        let body = match bare_expr(&closure.body) {
            Expr::Async(block) => quiet(&block.block),
            Expr::Block(block) if block.label.is_none() => quiet(&block.block),
            body => body.to_token_stream(),
        };
        let body = match &closure.output {
            ReturnType::Default => body,
            ReturnType::Type(_, ty) => {
                returned(quote_spanned!(span=> let __answer: #ty = #body; __answer))
            }
        };
        Ok(braced(quote!(#bindings #body), span).into_token_stream())
    }

    /// Input:  `|error, month|`
    /// Output: `let (error, month) = (__error, month);`
    fn bindings(&self, option: &str, closure: &ExprClosure) -> Result<TokenStream> {
        let span = Span::mixed_site();
        let inputs = &closure.inputs;
        let is_error = option == "on_error";
        if inputs.is_empty() && !is_error {
            return Ok(TokenStream::new());
        }
        let error = is_error.then(|| quote_spanned!(span=> __error));
        if is_error && inputs.len() == 1 {
            let input = &inputs[0];
            return Ok(quote_spanned!(span=> let #input = __error;));
        }
        let arguments = self.arguments.clone()?;
        let all: Vec<TokenStream> = error.clone().into_iter().chain(arguments.clone()).collect();
        // The body sees `self` anyway, so a closure may leave it out.
        let behind_self: Vec<TokenStream> = error
            .into_iter()
            .chain(arguments.into_iter().skip(usize::from(self.has_self)))
            .collect();
        let values = match inputs.len() {
            n if n == all.len() => all,
            n if n == behind_self.len() => behind_self,
            _ => {
                let (begin, end) = (&closure.inputs_begin, &closure.inputs_end);
                return Err(Error::new_spanned(
                    quote!(#begin #inputs #end),
                    self.closure_forms(option, &behind_self),
                ));
            }
        };
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
                    types.push(quote_spanned!(span=> _));
                }
            }
        }
        Ok(quote_spanned!(span=> let (#(#patterns,)*): (#(#types,)*) = (#(#values,)*);))
    }

    fn closure_forms(&self, option: &str, behind_self: &[TokenStream]) -> String {
        let names: Vec<String> = behind_self
            .iter()
            .map(|value| value.to_string().replace("__error", "error"))
            .collect();
        let all = format!("`|{}| …`", names.join(", "));
        match option {
            "on_error" if names.len() > 1 => {
                format!(
                    "a closure for `{option}` takes the error, `|error| …`, or the arguments too, {all}"
                )
            }
            "on_error" => format!("a closure for `{option}` takes the error: `|error| …`"),
            _ if names.is_empty() => {
                format!("a closure for `{option}` takes no arguments here: `|| …`")
            }
            _ => format!(
                "a closure for `{option}` takes no arguments, `|| …`, or all of them, {all}"
            ),
        }
    }

    fn private_at(&self, span: Span) -> TokenStream {
        private_at(self.options.runtime.as_ref(), span)
    }
}

/// A block that lints about braces leave alone: here its braces are needed.
fn quiet(block: &syn::Block) -> TokenStream {
    let statements = block.stmts.iter().map(ToTokens::to_token_stream).collect();
    let span = ours(block.brace_token.span.join());
    braced(statements, span).into_token_stream()
}

/// Whether an answer to a timeout may use what the body consumes.
pub(crate) fn uses_arguments(handler: Option<&Handler>, arguments: usize) -> bool {
    match handler {
        Some(Handler::Path(_)) => arguments > 0,
        Some(Handler::Closure(_)) => true,
        _ => false,
    }
}

/// Input:  `busy()`
/// Output: `{ return { busy() }; }`
///
/// The braces are ours, so no lint of the user's looks at them. The answer may never return.
pub(crate) fn returned(answer: TokenStream) -> TokenStream {
    let span = Span::mixed_site();
    let block = braced(answer, span);
    quote_spanned!(span=> {
        #[allow(unreachable_code, clippy::diverging_sub_expression)]
        return #block;
    })
}
