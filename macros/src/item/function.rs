//! A function: its attributes, its signature, and its body as tokens.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Error, Ident, Lifetime, Result, Signature, Token, Visibility};

use super::outer_and_inner;
use crate::errors::Errors;
use crate::kind::Kind;
use crate::tokens::{braced, find_word, last_word, ours};

/// A function, alone or in a block.
pub(crate) struct Function {
    /// Includes inner attributes of the body (`#![…]`).
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    /// `default` of a specialised impl.
    default: Option<Ident>,
    pub(crate) sig: Signature,
    /// `None` for `fn f();`.
    pub(crate) body: Option<Body>,
}

/// The tokens between the braces.
pub(crate) struct Body {
    pub(crate) tokens: TokenStream,
    /// The span of the braces.
    pub(crate) span: Span,
}

impl Function {
    /// Whether a function follows. `input` is after the attributes and the visibility.
    pub(crate) fn is_next(input: ParseStream) -> bool {
        let ahead = input.fork();
        while !ahead.peek(Token![fn]) {
            let qualifier = ahead.peek(Token![const])
                || ahead.peek(Token![async])
                || ahead.peek(Token![unsafe])
                || ahead.peek(Token![extern])
                || ahead.peek(syn::LitStr)
                || ahead.peek(Token![safe])
                || ahead.peek(Token![default]);
            if !qualifier || ahead.parse::<TokenTree>().is_err() {
                return false;
            }
        }
        true
    }

    /// The function with its original body, but without the attributes that were removed.
    pub(crate) fn untouched(&self) -> TokenStream {
        match &self.body {
            Some(body) => self.with_body(&body.tokens, body.span),
            None => self.before(quote!(;)),
        }
    }

    /// The same function with another body.
    pub(crate) fn with_body(&self, tokens: &TokenStream, span: Span) -> TokenStream {
        let (_, inner) = outer_and_inner(&self.attrs);
        self.before(braced(quote!(#(#inner)* #tokens), span))
    }

    fn before(&self, body: impl ToTokens) -> TokenStream {
        let (outer, _) = outer_and_inner(&self.attrs);
        let Self {
            visibility,
            default,
            sig,
            ..
        } = self;
        quote!(#(#outer)* #visibility #default #sig #body)
    }

    /// Whether the signature shows that the function may use the type `Self`.
    ///
    /// Ignores the body, because editing a body must not rename a lock; and the additions of `#[async_trait]` to the
    /// signature, because they depend on the body.
    pub(crate) fn knows_self(&self) -> bool {
        let sig = &self.sig;
        if sig.receiver().is_some() {
            return true;
        }
        let written = sig
            .generics
            .where_clause
            .iter()
            .flat_map(|clause| &clause.predicates);
        let written = written
            .map(ToTokens::to_token_stream)
            .filter(|predicate| find_word(predicate.clone(), "async_trait").is_none());
        let parts = [
            sig.generics.params.to_token_stream(),
            sig.inputs.to_token_stream(),
            sig.output.to_token_stream(),
        ];
        parts
            .into_iter()
            .chain(written)
            .any(|tokens| find_word(tokens, "Self").is_some())
    }

    /// Reports functions that cannot be protected.
    pub(crate) fn check(&self, kind: Kind, errors: &mut Errors) {
        let sig = &self.sig;
        if self.body.is_none() {
            errors.on(
                sig,
                format!("`#[{}]` needs a body, and `{}` has none: put the attribute on the functions that implement it", kind.word(), sig.ident),
            );
        }
        if let Some(constness) = &sig.constness {
            errors.at(constness.span, "a `const fn` cannot wait for a lock: remove `const`, or in a block add `#[auto_mutex::no_auto_mutex]`");
        }
        if let Some(abi) = &sig.abi {
            errors.on(abi, "an `extern` function cannot be protected itself: move its body to an ordinary function and annotate that; in a block add `#[auto_mutex::no_auto_mutex]` to this one");
        }
        let tracks = |it: &&Attribute| kind == Kind::Leader && it.path().is_ident("track_caller");
        for attribute in self.attrs.iter().filter(tracks) {
            errors.on(attribute, "`#[auto_leader]` calls the body from a loop, so `#[track_caller]` would name the loop: remove it");
        }
        // An attribute like `#[tokio::main]` has to be expanded first, because it makes the function sync.
        let starts = |attribute: &&Attribute| {
            matches!(&*last_word(attribute.path()), "main" | "test" | "bench")
        };
        let runtime = self
            .attrs
            .iter()
            .find(starts)
            .map(ToTokens::to_token_stream);
        let runtime =
            runtime.or_else(|| (sig.ident == "main").then(|| sig.ident.to_token_stream()));
        if let Some(runtime) = runtime.filter(|_| sig.asyncness.is_some()) {
            let attribute = kind.word();
            errors.on(
                runtime,
                format!("the runtime has to start before the lock is taken: put an attribute like `#[tokio::main]` above `#[{attribute}]`"),
            );
        }
    }
}

impl Body {
    /// The user's `{ … }`. Lints look at what is in it as in any other function.
    pub(crate) fn group(&self) -> TokenTree {
        braced(self.tokens.clone(), self.span)
    }

    /// The same as a part of another block. The label tells the compiler not to call the braces unnecessary. Those
    /// around it have this crate's edition: temporaries of the last expression are dropped there, before parameters and
    /// guards.
    pub(crate) fn block(&self) -> TokenTree {
        let (label, braces) = (Lifetime::new("'__body", self.span), self.group());
        braced(quote!(#label: #braces), ours(self.span))
    }
}

impl Parse for Function {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        let default = input
            .parse::<Option<Token![default]>>()?
            .map(|token| Ident::new("default", token.span));
        let sig = input.parse()?;
        let body = if input.parse::<Option<Token![;]>>()?.is_some() {
            None
        } else {
            let braces = braces(input.parse()?)?;
            let (inner, tokens) = split.parse2(braces.stream())?;
            attrs.extend(inner);
            Some(Body {
                tokens,
                span: braces.span(),
            })
        };
        Ok(Self {
            attrs,
            visibility,
            default,
            sig,
            body,
        })
    }
}

/// The braces of a body, without the invisible group in which a macro wraps `$body:block`.
fn braces(token: TokenTree) -> Result<Group> {
    let place = token.span();
    let missing = || Error::new(place, "expected the body of the function, `{ … }`");
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Ok(group),
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            let inside = group.stream().into_iter().next();
            braces(inside.ok_or_else(missing)?)
        }
        _ => Err(missing()),
    }
}

/// Input:  `#![allow(x)] a; b`
/// Output: `#![allow(x)]` and `a; b`
fn split(input: ParseStream) -> Result<(Vec<Attribute>, TokenStream)> {
    Ok((input.call(Attribute::parse_inner)?, input.parse()?))
}
