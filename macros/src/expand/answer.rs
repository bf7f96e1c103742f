//! What a call returns if it did not get the lock, or lost it: the answer of a handler, or the error in the return
//! type.

use proc_macro2::{Group, Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, ExprPath, Result};

use super::body::Expansion;
use crate::args::Handler;
use crate::kind::Kind;
use crate::params::Argument;
use crate::tokens::{braced, moved, ours, quote_ours, start};

impl Expansion<'_> {
    /// The arms that follow `Ok` in a `match` on a `Result<_, LockError>`.
    pub(crate) fn arms(&self) -> Result<TokenStream> {
        let private = &self.private;
        let (timeout, error) = self.answers(|answer| answer)?;
        Ok(quote_ours!(#timeout #private::Err(__error) => #error,))
    }

    /// The arm for a timeout and the answer to `__error`, or the compile errors about both.
    pub(crate) fn answers(
        &self,
        wrap: impl Fn(TokenStream) -> TokenStream,
    ) -> Result<(Option<TokenStream>, TokenStream)> {
        match (self.timeout_arm(wrap), self.error_answer()) {
            (Ok(timeout), Ok(error)) => Ok((timeout, error)),
            (Err(mut timeout), Err(error)) => {
                timeout.combine(error);
                Err(timeout)
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// The arm of the `match` for a timeout; `None` if a timeout is answered like any other error.
    fn timeout_arm(
        &self,
        wrap: impl Fn(TokenStream) -> TokenStream,
    ) -> Result<Option<TokenStream>> {
        let answer = match &self.options.on_timeout {
            Some(handler) => self.handle("on_timeout", handler)?,
            // `on_error` answers every other error, but not a timeout.
            None if self.options.on_error.is_some() => {
                self.carried("FromTimeout", "from_timeout")?
            }
            None => return Ok(None),
        };
        let (private, answer) = (&self.private, wrap(answer));
        Ok(Some(quote_ours! {
            #private::Err(__error) if __error.is_timeout() => #answer,
        }))
    }

    /// The answer to `__error`.
    fn error_answer(&self) -> Result<TokenStream> {
        match &self.options.on_error {
            Some(handler) => self.handle("on_error", handler),
            None if self.options.on_timeout.is_some() => {
                self.carried("FromOtherError", "from_other_error")
            }
            None => self.carried("FromLockError", "from_lock_error"),
        }
    }

    /// The answer as a function of the error, if no handler uses more.
    pub(crate) fn answer(&self) -> Result<TokenStream> {
        if self.options.handlers().next().is_none() {
            return self.carrier("FromLockError", "from_lock_error");
        }
        let (private, arms) = (&self.private, self.arms()?);
        Ok(quote_ours! {
            |__error| match #private::failed(__error) {
                #private::Ok(__value) => __value,
                #arms
            }
        })
    }

    /// `<R as FromLockError>::from_lock_error(__error)`
    fn carried(&self, by: &str, make: &str) -> Result<TokenStream> {
        let carrier = self.carrier(by, make)?;
        let span = ours(self.returns.span);
        Ok(quote_spanned!(span=> #carrier(__error)))
    }

    /// `<R as FromLockError>::from_lock_error`
    pub(super) fn carrier(&self, by: &str, make: &str) -> Result<TokenStream> {
        let Some(ty) = &self.returns.ty else {
            let handlers = match self.options.kind {
                Kind::Leader => "",
                _ => "add both `on_timeout = …` and `on_error = …`, or ",
            };
            let message = format!(
                "this return type cannot carry a `LockError`: {handlers}return a `Result` whose error implements `From<LockError>`"
            );
            return Err(Error::new(self.returns.span, message));
        };
        let private = self.private_at(self.returns.span);
        let span = ours(self.returns.span);
        let (by, make) = (Ident::new(by, span), Ident::new(make, span));
        Ok(quote_spanned!(span=> <#ty as #private::#by<_>>::#make))
    }

    fn handle(&self, option: &str, handler: &Handler) -> Result<TokenStream> {
        match handler {
            Handler::Skip(span) => self.skip(*span),
            Handler::Panic(span) => {
                let private = self.private_at(*span);
                let span = ours(*span);
                Ok(quote_spanned!(span=> #private::panic(__error)))
            }
            Handler::Path { path, own } => self.call(option, path, own.as_ref()),
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
    /// Output: `return { Self::busy(self, month) }`; in a future `answer((Self::busy(self, month),)).await`
    ///
    /// The path becomes `own(Self::busy, <Self as Book>::busy)` if it could mean a function outside the block. For
    /// `on_error`, a function of a type may be a method, and the call is `on_error(Self::failed, self, __error)`.
    fn call(
        &self,
        option: &str,
        path: &ExprPath,
        own: Option<&TokenStream>,
    ) -> Result<TokenStream> {
        let arguments = match option {
            "on_timeout" => self
                .arguments
                .iter()
                .map(
                    |Argument {
                         conditions, value, ..
                     }| {
                        let value = value.clone()?;
                        Ok(quote!(#conditions #value))
                    },
                )
                .collect::<Result<_>>()?,
            _ => vec![quote_ours!(__error)],
        };
        let span = start(path);
        // Errors about the call point at the path instead of the attribute.
        let mut list = Group::new(proc_macro2::Delimiter::Parenthesis, quote!(#(#arguments),*));
        list.set_span(ours(span));
        let private = self.private_at(span);
        let handler = match own {
            Some(own) => {
                let own = moved(own.clone(), span);
                quote_spanned!(ours(span)=> #private::own(#path, #own))
            }
            None => path.to_token_stream(),
        };
        let call = if option == "on_error" && !self.is_unsafe {
            let this = match &self.this {
                Some(this) if is_of_type(path) => this.clone(),
                _ => quote_spanned!(ours(span)=> #private::NoSelf),
            };
            quote_spanned!(ours(span)=> #private::on_error(#handler, #this, __error))
        } else {
            quote!(#handler #list)
        };
        if !self.awaits {
            // `return` makes the compiler compare the type of the answer with the function's return type.
            return Ok(returned(call));
        }
        let span = ours(span);
        let ty = match &self.returns.ty {
            Some(ty) => ty.clone(),
            None => quote_spanned!(span=> _),
        };
        // Within a tuple, the compiler does not coerce the type `!` of a handler that never returns.
        Ok(quote_spanned! {span=> {
            #[allow(unreachable_code, clippy::used_underscore_binding)]
            let __answer = (#call,);
            #[allow(unreachable_code)]
            let __answer = #private::answer::<_, #ty, _>(__answer).await;
            __answer
        }})
    }

    pub(super) fn private_at(&self, span: Span) -> TokenStream {
        moved(self.private.clone(), span)
    }
}

/// Whether the path names a function of a type, not of a module: `Self::failed`, `<T as Trait>::failed`,
/// `Ledger::failed`.
fn is_of_type(path: &ExprPath) -> bool {
    let of = path.path.segments.iter().rev().nth(1);
    let is_type = |name: String| name.starts_with(char::is_uppercase);
    path.qself.is_some() || of.is_some_and(|of| is_type(of.ident.unraw().to_string()))
}

/// Whether the handler of a timeout may use arguments that the body consumes.
pub(crate) fn uses_arguments(handler: Option<&Handler>, arguments: usize) -> bool {
    match handler {
        Some(Handler::Path { .. }) => arguments > 0,
        Some(Handler::Closure(_)) => true,
        _ => false,
    }
}

/// Input:  `busy()`
/// Output: `{ return { busy() }; }`
///
/// The braces have this crate's span, which exempts them from lints. The `allow` is for an answer that diverges, and
/// for arguments like `_month`, which no other code may use.
pub(crate) fn returned(answer: TokenStream) -> TokenStream {
    let block = braced(answer, Span::mixed_site());
    quote_ours!({
        #[allow(unreachable_code, clippy::diverging_sub_expression, clippy::used_underscore_binding)]
        return #block;
    })
}
