//! The options between the parentheses of an attribute.
//!
//! Each option is parsed on its own, so that one wrong option does not hide the next. This module also reports
//! conflicts between options; `expand` checks whether an option suits the function.

mod elsewhere;
mod escape;
mod handler;
mod key;
mod keys;
mod length;
mod merge;
mod read;
mod template;
mod unit;
mod was;
mod word;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{Error, Expr, LitStr, Path, Result};

use crate::errors::Errors;
use crate::item::Params;
use crate::kind::Kind;
use crate::tokens::bare_expr;

pub(crate) use handler::{Handler, is_awaited};
pub(crate) use key::Part;
pub(crate) use keys::{Key, Keys, is_place};
pub(crate) use length::{Count, Length};
pub(crate) use was::Was;
pub(crate) use word::DONE;

/// The options of one attribute, or those of one function together with the defaults of its block.
#[derive(Clone)]
pub(crate) struct Options {
    pub(crate) kind: Kind,
    /// The place of the attribute.
    pub(crate) span: Span,
    /// The options as they were written, in the same order.
    given: Vec<Given>,
    pub(crate) expire: Option<Length>,
    pub(crate) block: Option<Length>,
    pub(crate) at_least: Option<Length>,
    pub(crate) retries: Option<Count>,
    pub(crate) interval: Option<Length>,
    pub(crate) on_timeout: Option<Handler>,
    pub(crate) on_error: Option<Handler>,
    pub(crate) on_lost: Option<OnLost>,
    pub(crate) ns: Option<LitStr>,
    pub(crate) name: Option<LitStr>,
    pub(crate) key: Option<Key>,
    pub(crate) keys: Option<Keys>,
    /// Whether the function's attribute has neither `key` nor `keys`, so that they can only come from the block.
    key_inherited: bool,
    pub(crate) was: Option<Was>,
    pub(crate) owner: Option<Expr>,
    /// The reason why the order of the function's locks is intended.
    pub(crate) order: Option<LitStr>,
    pub(crate) reentrant: Option<bool>,
    pub(crate) permits: Option<Count>,
    pub(crate) guard: Option<Guard>,
    pub(crate) client: Option<Expr>,
    pub(crate) runtime: Option<Path>,
    /// The option `explicit`: only the marked functions of a block are protected.
    pub(crate) explicit: Option<Span>,
    /// See [`word::DONE`].
    pub(crate) done: bool,
}

/// An option as it was written.
#[derive(Clone)]
struct Given {
    word: Ident,
    text: String,
}

impl Given {
    /// The option's word as the user wrote it, perhaps an alias: `text` begins with this word.
    fn written(&self) -> &str {
        let ends = |c: char| c != '_' && !c.is_alphanumeric();
        self.text.split(ends).next().unwrap_or_default()
    }
}

/// What to do when the lease is lost while the body runs.
#[derive(Clone)]
pub(crate) struct OnLost {
    pub(crate) finish: bool,
    pub(crate) span: Span,
    inherited: bool,
}

/// The name of the guard in the body.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) ident: Ident,
    pub(crate) inherited: bool,
}

impl Options {
    /// Options of which none is set.
    pub(crate) fn of(kind: Kind, span: Span) -> Self {
        Self {
            kind,
            span,
            given: Vec::new(),
            expire: None,
            block: None,
            at_least: None,
            retries: None,
            interval: None,
            on_timeout: None,
            on_error: None,
            on_lost: None,
            ns: None,
            name: None,
            key: None,
            keys: None,
            key_inherited: false,
            was: None,
            owner: None,
            order: None,
            reentrant: None,
            permits: None,
            guard: None,
            client: None,
            runtime: None,
            explicit: None,
            done: false,
        }
    }

    /// Reports conflicts between options, and names of parameters that do not exist.
    pub(crate) fn check(&self, params: &Params, errors: &mut Errors) {
        self.check_kind(errors);
        if let (Some(retries), Some(_)) = (self.word("retries"), self.word("block")) {
            errors.at(
                retries.span(),
                "`retries` polls instead of waiting in the queue for `block`: leave out one of them",
            );
        }
        if let (Some(interval), None) = (self.word("interval"), self.word("retries")) {
            errors.at(
                interval.span(),
                "`interval` is the time between `retries`: say how many, as in `retries = 3`",
            );
        }
        if let Some(explicit) = self.explicit {
            errors.at(
                explicit,
                "`explicit` is for `impl` and `trait` blocks: leave it out",
            );
        }
        if let Some(was) = &self.was {
            was.check(self.kind, params, errors);
        }
        if let Some(key) = &self.key {
            key.check(self.kind, params, self.key_inherited, errors);
        }
        if let Some(keys) = &self.keys {
            keys.check(self.kind, params, self.key_inherited, errors);
        }
    }

    fn check_kind(&self, errors: &mut Errors) {
        if self.kind == Kind::Semaphore && self.word("permits").is_none() {
            errors.at(
                self.span,
                "`#[auto_semaphore]` needs the number of permits: write `#[auto_semaphore(permits = 5)]`",
            );
        }
        if let (Some(keys), Some(_)) = (self.word("keys"), self.word("key")) {
            errors.at(
                keys.span(),
                "`key` is one lock and `keys` are several: put all of them into `keys`",
            );
        }
        if let (Some(reentrant), Some(_)) = (self.word("reentrant"), self.word("owner"))
            && self.reentrant == Some(false)
        {
            errors.at(
                reentrant.span(),
                "calls of one `owner` share the lock, and `reentrant = false` forbids it: leave out one of them",
            );
        }
        if let (Some(owner), Some(other)) =
            (self.word("owner"), self.word("keys").or(self.word("was")))
        {
            errors.at(
                owner.span(),
                format!("`owner` is for a single mutex, and `{other}` takes several: leave out one of them"),
            );
        }
    }

    /// `on_timeout` and `on_error`, if they are given.
    pub(crate) fn handlers(&self) -> impl Iterator<Item = (&'static str, &Handler)> {
        let both = [
            ("on_timeout", &self.on_timeout),
            ("on_error", &self.on_error),
        ];
        both.into_iter()
            .filter_map(|(option, handler)| Some((option, handler.as_ref()?)))
    }

    pub(crate) fn handlers_mut(&mut self) -> impl Iterator<Item = &mut Handler> {
        [&mut self.on_timeout, &mut self.on_error]
            .into_iter()
            .flatten()
    }

    /// Whether the call takes several locks.
    pub(crate) fn takes_several(&self) -> bool {
        self.keys.is_some() || self.was.is_some()
    }

    /// The name of the option with the span of the written word, if the option was given.
    fn word(&self, option: &str) -> Option<&Ident> {
        let mut words = self.given.iter().map(|given| &given.word);
        words.find(|word| *word == option)
    }

    /// The options as written, except `crate`.
    pub(crate) fn text(&self) -> String {
        let given = self.given.iter().filter(|given| given.word != "crate");
        let texts: Vec<&str> = given.map(|given| given.text.as_str()).collect();
        texts.join(", ")
    }
}

impl OnLost {
    fn parse(value: Expr) -> Result<Self> {
        let word = match bare_expr(&value) {
            Expr::Path(path) => path.path.get_ident().cloned(),
            _ => None,
        };
        match word {
            Some(word) if word == "cancel" || word == "finish" => Ok(Self {
                finish: word == "finish",
                span: word.span(),
                inherited: false,
            }),
            _ => Err(Error::new_spanned(
                value,
                "`on_lost` is `cancel` (stop the body at its next await) or `finish` (let it run on)",
            )),
        }
    }

    /// Whether the function's own attribute asks for `cancel`.
    pub(crate) fn insists_on_cancel(&self) -> bool {
        !self.finish && !self.inherited
    }
}

/// The error for a guard with `mut`, `ref` or `&`.
const ONLY_BORROWED: &str = "`guard` takes a plain name: the guard is a shared reference, which is all that its methods need: `guard = lock`";

impl Guard {
    fn parse(value: Expr) -> Result<Self> {
        match bare_expr(&value) {
            Expr::Path(path) if path.path.get_ident().is_some_and(|ident| ident != "self") => {
                Ok(Self {
                    ident: path.path.segments[0].ident.clone(),
                    inherited: false,
                })
            }
            Expr::Reference(_) => Err(Error::new_spanned(value, ONLY_BORROWED)),
            _ => Err(Error::new_spanned(
                value,
                "`guard` takes the name that the guard gets in the body: `guard = lock`",
            )),
        }
    }
}

/// The tokens between the parentheses of an attribute.
pub(crate) fn arguments(attribute: &syn::Attribute) -> Result<TokenStream> {
    match &attribute.meta {
        syn::Meta::Path(_) => Ok(TokenStream::new()),
        syn::Meta::List(list) => Ok(list.tokens.clone()),
        syn::Meta::NameValue(pair) => Err(Error::new_spanned(
            pair.to_token_stream(),
            format!(
                "options go in parentheses: `#[{}(expire = 100)]`",
                attribute.path().to_token_stream()
            ),
        )),
    }
}
