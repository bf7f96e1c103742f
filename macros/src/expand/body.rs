//! The body of a protected function, for each flavor.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Result, ReturnType, Token, Type};

use super::answer::{returned, uses_arguments};
use super::request::Request;
use crate::args::{Handler, Options};
use crate::flavor::{AsyncBlock, Returns};
use crate::item::{Body, Function};
use crate::params::{Argument, owned};
use crate::source;
use crate::tokens::{braced, end, ours, quote_ours};

/// What determines the expansion of a function.
pub(super) struct Expansion<'a> {
    pub(super) options: &'a Options,
    pub(super) returns: &'a Returns,
    pub(super) request: Request,
    /// The function's own arguments, if a handler gets any.
    pub(super) arguments: Vec<Argument>,
    /// Statements that destructure parameters, which the signature leaves whole for the handlers.
    pub(super) prelude: TokenStream,
    pub(super) has_self: bool,
    /// `self`, if it is certainly available when the handler of `on_error` runs.
    pub(super) this: Option<TokenStream>,
    /// Whether the handler of `on_error` uses parameters that would be moved into the body.
    pub(super) shares: bool,
    /// Whether a handler may be an `unsafe fn`.
    pub(super) is_unsafe: bool,
    /// Whether the answer is produced in a future.
    pub(super) awaits: bool,
    /// The path of the runtime's module for expansions.
    pub(super) private: TokenStream,
}

impl Expansion<'_> {
    /// Input:  `{ BODY }`
    /// Output:
    ///
    /// ```text
    /// let mut __request = …;
    /// match enter(__request) {
    ///     Ok(__guard) => { BODY }
    ///     Err(__error) => …
    /// }
    /// ```
    ///
    /// The body is not moved into a closure, which could not return a reference to what it borrows. Its braces have
    /// this crate's edition, so temporaries of the body's last expression are dropped before `__guard`.
    pub(super) fn sync(&self, body: &Body) -> Result<TokenStream> {
        let private = &self.private;
        let before = self.before(None);
        let (guard, arms) = (self.guard(true), self.arms()?);
        let mut inside = body.block().into();
        if !guard.is_empty() {
            inside = quote_ours!({ #guard #inside });
        }
        Ok(quote_ours! {
            #before
            match #private::enter(__request) {
                #private::Ok(__guard) => #inside
                #arms
            }
        })
    }

    /// Input:  `{ BODY }`, of an async function
    /// Output:
    ///
    /// ```text
    /// let __call = protection(Request::<Mutex>::new(site!("…")), <R as FromLockError<_>>::from_lock_error);
    /// Protect::Running { of: Of, body: async move { BODY }, call: __call }
    /// ```
    ///
    /// Or, if values of options have to be evaluated:
    ///
    /// ```text
    /// let __call = asking_mutex(<R as FromLockError<_>>::from_lock_error);
    /// let __body = async move { let mut __request = …; ask(__request).await; BODY };
    /// Protect::Running { of: Of, body: __body, call: __call }
    /// ```
    ///
    /// Returns the statement and the future. `before` are the first statements of the future.
    fn protected(
        &self,
        body: &Body,
        before: Option<TokenStream>,
    ) -> Result<(TokenStream, TokenStream)> {
        let (asks, call) = self.asking()?;
        let (edge, block, at) = (self.edge(), body.block(), body.span);
        let braces = braced(quote!(#before #edge #asks #block), at);
        let future = quote_spanned!(at=> async move #braces);
        Ok(self.protect(future, call))
    }

    /// The first statements of the body, and the call that waits for them.
    fn asking(&self) -> Result<(TokenStream, TokenStream)> {
        let (private, request) = (&self.private, &self.request);
        let (answer, first) = (self.answer()?, self.first());
        if request.settings.is_empty() {
            let new = &request.new;
            return Ok((first, quote_ours!(#private::protection(#new, #answer))));
        }
        let statements = request.statements(first);
        let kind = request.lock.to_string().to_lowercase();
        let asking = Ident::new(&format!("asking_{kind}"), Span::mixed_site());
        let asks = quote_ours!(#statements #private::ask(__request).await;);
        Ok((asks, quote_ours!(#private::#asking(#answer))))
    }

    /// Input:  `{ BODY }`, of an `async fn` that only rustdoc or clippy reads
    /// Output: `let __call = …; if false { return Protect::Running { … }.await; } BODY`
    ///
    /// The types are not deeper than those of the plain function: a chain of calls has as many as for the compiler.
    fn read(&self, body: &Body) -> Result<TokenStream> {
        let (private, block) = (&self.private, body.block());
        let (asks, call) = self.asking()?;
        let (statement, future) = self.protect(quote_ours!(async { #private::never() }), call);
        Ok(quote_ours!(#statement if false { return #future.await; } #asks #block))
    }

    /// Input:  `{ BODY }`, in a future
    /// Output: that of [`protected`](Self::protected), awaited, or if a handler or the body needs more:
    ///
    /// ```text
    /// let mut __request = …;
    /// match {
    ///     let mut __lock = locking(__request);
    ///     let __body = pin!(async move { BODY });
    ///     let __result = under(&mut __lock, __body).await;
    ///     __result
    /// } {
    ///     Ok(__value) => __value,
    ///     Err(__error) => …
    /// }
    /// ```
    ///
    /// The body is pinned in place, because moving a future copies everything in it and needs stack. The lock is
    /// acquired in a separate step if the body uses the guard, or a handler may use what the body consumes.
    fn in_future(&self, body: &Body, edge: Option<TokenStream>) -> Result<TokenStream> {
        let private = &self.private;
        let request = self.before(edge);
        let finishes = self.finishes();
        let apart = self.options.guard.is_some()
            || uses_arguments(self.options.on_timeout.as_ref(), self.arguments.len())
            || finishes && matches!(self.options.on_error, Some(Handler::Closure(_)));
        let body = self.future(body);
        if !apart {
            return self.under(request, body);
        }
        let guard = self.guard(false);
        let under = self.by_loss("under", "under_finishing", "under_failing");
        let held = if finishes {
            quote_ours! {
                let __body = #private::pin!(#body);
                let __value = #private::finish(#private::under_finishing(&mut __held, __body).await);
                return __value;
            }
        } else {
            quote_ours! {
                let __result = {
                    let __body = #private::pin!(#body);
                    let __result = #private::#under(&mut __held, __body).await;
                    __result
                };
                match __result {
                    #private::Ok(__value) => return __value,
                    #private::Err(__error) => __error,
                }
            }
        };
        let call = quote_ours!(#private::Lock::acquire(__request).await);
        let held = quote_ours! {
            #private::Ok(__guard) => {
                let mut __held = #private::held(&__guard);
                #guard
                #held
            }
        };
        self.behind(request, call, held)
    }

    /// A `match` that returns from its arm `ok`, followed by the answer to an error.
    fn behind(
        &self,
        before: TokenStream,
        result: TokenStream,
        ok: TokenStream,
    ) -> Result<TokenStream> {
        let private = &self.private;
        let (timeout, error) = self.answers(returned)?;
        Ok(quote_ours! {
            #before
            let __error = match #result {
                #ok
                #timeout
                #private::Err(__error) => __error,
            };
            #error
        })
    }

    /// Takes the lock and runs the future `body` under it. The result is stored in a variable, because in old editions
    /// the last expression of a block must not borrow from the block.
    fn under(&self, before: TokenStream, body: TokenStream) -> Result<TokenStream> {
        let private = &self.private;
        let under = self.by_loss("under", "under_finishing", "under_failing");
        let result = quote_ours! {
            {
                let mut __lock = #private::locking(__request);
                let __body = #private::pin!(#body);
                let __result = #private::#under(&mut __lock, __body).await;
                __result
            }
        };
        // A handler awaited in an arm of the `match` would make the future hold the body and the handler together.
        if matches!(self.options.on_error, Some(Handler::Path { .. })) {
            let ok = quote_ours!(#private::Ok(__value) => return __value,);
            return self.behind(before, result, ok);
        }
        let arms = self.arms()?;
        Ok(quote_ours! {
            #before
            match #result {
                #private::Ok(__value) => __value,
                #arms
            }
        })
    }

    /// Input:  `{ BODY }`, of an `async fn`
    /// Output: the expansion for an `async fn`; or for a function that returns the future, with `is_rewritten`
    ///
    /// The latter has one state machine instead of two, and compiles in half the time.
    pub(super) fn asynchronous(
        &self,
        function: &mut Function,
        body: &Body,
        rewrites: bool,
    ) -> Result<TokenStream> {
        if !self.is_simple() {
            return self.in_future(body, None);
        }
        if source::is_only_read() {
            return self.read(body);
        }
        let moved = rewrites.then(|| owned(&mut function.sig));
        let (statement, future) = self.protected(body, moved)?;
        if !rewrites {
            return Ok(quote_ours!(#statement #future.await));
        }
        let (private, sig) = (&self.private, &mut function.sig);
        let (output, end) = match &sig.output {
            ReturnType::Default => (quote_ours!(()), sig.paren_token.span.close()),
            ReturnType::Type(_, ty) => (ty.to_token_stream(), end(ty)),
        };
        // The signature begins and ends where the user's does, and so do warnings about it.
        if let Some(first) = sig.asyncness.take() {
            sig.fn_token.span = first.span;
        }
        let (at, end) = (ours(self.returns.span), Token![>](end));
        let output = quote_spanned!(at=> impl #private::Future<Output = #output #end);
        sig.output = ReturnType::Type(Token![->](at), Box::new(Type::Verbatim(output)));
        Ok(quote!(#statement #future))
    }

    /// Input: `Box::pin(async move { BODY })` Output: `Box::pin(Protect::Running { of: Of, body: async move { BODY }, …
    /// })`, or if a handler or the body needs more,
    ///         `Box::pin(async move { … })`, with the expansion of an `async fn` inside
    pub(super) fn block(&self, block: &AsyncBlock) -> Result<TokenStream> {
        if self.is_simple() {
            let (statement, future) = self.protected(&block.body, None)?;
            let future = block.pinned(future);
            return Ok(quote!(#statement #future));
        }
        let span = block.body.span;
        let inside = braced(self.in_future(&block.body, Some(self.edge()))?, span);
        Ok(block.pinned(quote_spanned!(span=> async move #inside)))
    }

    /// Input:  `{ let n = self.n; other(n) }`, which makes a future
    /// Output:
    ///
    /// ```text
    /// let mut __request = …;
    /// let __future = make(move || { let n = self.n; other(n) });
    /// let __call = protection(__request, <R as FromLockError<_>>::from_lock_error);
    /// Protect::Running { of: Of, body: __future, call: __call }
    /// ```
    ///
    /// Or, if a handler needs more, `async move { match { …under(…, __future).await… } { … } }`.
    ///
    /// The body is moved into a closure, so that an early `return` in it does not skip the lock.
    pub(super) fn made(
        &self,
        function: &Function,
        body: &Body,
        boxed: bool,
    ) -> Result<TokenStream> {
        let private = &self.private;
        let before = self.before(None);
        let future = if self.is_simple() {
            let answer = self.answer()?;
            let call = quote_ours!(#private::protection(__request, #answer));
            let (statement, future) = self.protect(quote_ours!(__future), call);
            quote_ours!({ #statement #future })
        } else {
            let inside = self.under(self.edge(), quote_ours!(__future))?;
            quote_ours!(async move { #inside })
        };
        let body = body.group();
        let output = match &function.sig.output {
            ReturnType::Type(_, ty) if boxed => quote_ours!(-> #ty),
            _ => TokenStream::new(),
        };
        let future = if boxed {
            quote_ours!(#private::Box::pin(#future))
        } else {
            future
        };
        Ok(quote_ours! {
            #before
            let __future = #private::make(move || #output #body);
            #future
        })
    }

    /// `async move { EDGE BODY }`. A future that borrows a parameter is `Send` only if the parameter is `Sync`.
    fn future(&self, body: &Body) -> TokenStream {
        let span = body.span;
        let edge = self.edge();
        let block = body.block();
        let braces = braced(quote!(#edge #block), span);
        // With `finish`, `on_error` is not used after the body.
        let is_shared = self.shares && !self.finishes();
        let by = (!is_shared).then(|| quote_spanned!(span=> move));
        quote_spanned!(span=> async #by #braces)
    }

    /// A statement that tells the compiler the return type of an async block, so that coercions, `?` and type errors
    /// work as in the function.
    pub(super) fn edge(&self) -> TokenStream {
        let Some(ty) = &self.returns.ty else {
            return TokenStream::new();
        };
        let private = &self.private;
        quote_ours!(if false { return #private::never::<#ty>(); })
    }

    /// `prelude`, and the check of the return type.
    fn first(&self) -> TokenStream {
        let (prelude, check) = (&self.prelude, self.return_check());
        quote!(#prelude #check)
    }

    /// `let mut __request = …;`, then [`first`](Self::first), then `edge`, then the statements that set options.
    pub(super) fn before(&self, edge: Option<TokenStream>) -> TokenStream {
        let first = self.first();
        self.request.statements(quote!(#first #edge))
    }

    /// Whether neither a handler nor the body uses the guard or the arguments.
    fn is_simple(&self) -> bool {
        let is_constant = |handler| matches!(handler, &Handler::Skip(_) | Handler::Panic(_));
        let handlers = self.options.handlers();
        self.options.guard.is_none() && handlers.map(|(_, handler)| handler).all(is_constant)
    }

    fn protect(&self, body: TokenStream, call: TokenStream) -> (TokenStream, TokenStream) {
        let private = &self.private;
        let call = match self.by_loss("", "finishing", "failing") {
            Some(by_loss) => quote_ours!(#private::#by_loss(#call)),
            None => call,
        };
        (
            quote_ours!(let __call = #call;),
            quote_ours!(#private::Protect::Running { of: #private::Of, body: #body, call: __call }),
        )
    }

    /// `use Borrowed as _; let g = &__guard;`
    fn guard(&self, entered: bool) -> TokenStream {
        let Some(ident) = &self.options.guard else {
            return TokenStream::new();
        };
        let private = &self.private;
        // Not every function uses a guard inherited from the block.
        let inherited = self.options.is_inherited("guard");
        let allow = inherited.then(|| quote!(#[allow(unused_variables)]));
        let guard = match entered {
            true => quote_ours!(#private::Entered::guard(&__guard)),
            false => quote_ours!(&__guard),
        };
        quote_ours! {
            #[allow(unused_imports)]
            use #private::Borrowed as _;
            #allow
            let #ident = #guard;
        }
    }

    /// A statement that fails to compile if the return type is or contains a future.
    fn return_check(&self) -> TokenStream {
        let Some(ty) = &self.returns.checked else {
            return TokenStream::new();
        };
        let private = self.private_at(self.returns.span);
        let span = ours(self.returns.span);
        let require = match self.awaits {
            true => quote_spanned!(span=> require_done),
            false => quote_spanned!(span=> require_value),
        };
        quote_spanned! {span=>
            {
                use #private::Otherwise as _;
                let __returned = #private::ReturnType::<#ty>::NEW;
                #private::#require(__returned.__auto_mutex_kind());
                let __returned = __returned.__auto_mutex_inner();
                #private::require_done(__returned.__auto_mutex_kind());
                let __returned = __returned.__auto_mutex_inner();
                #private::require_done(__returned.__auto_mutex_kind());
            }
        }
    }

    fn finishes(&self) -> bool {
        let on_lost = self.options.on_lost.as_ref();
        on_lost.is_some_and(|word| word == "finish")
    }

    /// The function of the runtime for what a loss does to the body, if there is one.
    fn by_loss(&self, cancels: &str, finishes: &str, fails: &str) -> Option<Ident> {
        let function = match self.options.on_lost.as_ref() {
            Some(word) if word == "finish" => finishes,
            Some(word) if word == "fail" => fails,
            _ => cancels,
        };
        (!function.is_empty()).then(|| Ident::new(function, Span::mixed_site()))
    }
}
