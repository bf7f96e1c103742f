//! The options between the parentheses of an attribute.
//!
//! Each is read on its own, so that one wrong option does not hide the next. What an option means together
//! with others is checked here too; what it means for a given function is not.

mod handler;
mod key;
mod length;
mod merge;
mod read;
mod template;
mod word;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::{Error, Expr, LitStr, Path, Result};

use crate::errors::Errors;
use crate::item::Params;
use crate::tokens::bare_expr;

pub(crate) use handler::{Handler, is_awaited};
pub(crate) use key::{Key, Part};
pub(crate) use length::{Count, Length};
pub(crate) use word::DONE;

/// The options of one attribute, or of one function after its block's defaults were added.
#[derive(Clone, Default)]
pub(crate) struct Options {
    /// In the order given.
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
    /// The key is the block's.
    key_inherited: bool,
    pub(crate) guard: Option<Guard>,
    pub(crate) client: Option<Expr>,
    pub(crate) runtime: Option<Path>,
    /// Protect the marked functions of a block only.
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
    /// What the options mean together, and whether what they name is there.
    pub(crate) fn check(&self, params: &Params, errors: &mut Errors) {
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
        if let Some(name) = &self.name
            && let Some(param) = params
                .names()
                .find(|param| name.value().contains(&format!("{{{param}}}")))
        {
            errors.at(
                name.span(),
                format!("`name` is the same for every call: write `key = \"{{{param}}}\"` for a lock per `{param}`"),
            );
        }
        if let Some(key) = &self.key {
            key.check(params, self.key_inherited, errors);
        }
    }

    /// The word as it was written, if the option was given.
    fn word(&self, option: &str) -> Option<&Ident> {
        let mut words = self.given.iter().map(|given| &given.word);
        words.find(|word| *word == option)
    }

    /// What was written about locks.
    pub(crate) fn text(&self) -> String {
        let about_locks = |given: &&Given| given.word != "crate" && given.word != word::EXPLICIT;
        let given = self.given.iter().filter(about_locks);
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

    /// `cancel`, asked for on this very function.
    pub(crate) fn insists_on_cancel(&self) -> bool {
        !self.finish && !self.inherited
    }
}

impl Guard {
    fn parse(value: Expr) -> Result<Self> {
        match bare_expr(&value) {
            Expr::Path(path) if path.path.get_ident().is_some_and(|ident| ident != "self") => {
                Ok(Self {
                    ident: path.path.segments[0].ident.clone(),
                    inherited: false,
                })
            }
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
            "options go in parentheses: `#[auto_mutex(expire = 100)]`",
        )),
    }
}
