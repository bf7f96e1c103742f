//! The options between the parentheses of an attribute.
//!
//! Each is read on its own, so that one wrong option does not hide the next. What an option means together
//! with others is checked here too; what it means for a given function is not.

mod handler;
mod key;
mod length;
mod merge;
mod word;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, ExprLit, Lit, LitStr, Path, Result, Token};

use crate::errors::Errors;
use crate::item::Params;
use crate::tokens::bare_expr;

pub(crate) use handler::{Handler, is_awaited};
pub(crate) use key::{Key, Part};
use length::Least;
pub(crate) use length::{Count, Length};
pub(crate) use word::DONE;

/// A shorter hold would be over before it could be used; the runtime refuses it too.
const EXPIRE: Least = Least::Milliseconds(10);

/// The options of one attribute, or of one function after its block's defaults were added.
#[derive(Clone, Default)]
pub(crate) struct Options {
    /// The words in the order given.
    given: Vec<Ident>,
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
    /// Reads everything that can be read and notes the rest.
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::default();
        let read = |input: ParseStream| {
            while !input.is_empty() {
                let mut failed = options.option(input).err();
                if failed.is_none() && !input.is_empty() && !input.peek(Token![,]) {
                    failed = Some(Error::new(input.span(), "expected `,` between two options"));
                }
                if let Some(error) = failed {
                    errors.push(error);
                    skip_option(input)?;
                }
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
            }
            Ok(())
        };
        if let Err(error) = read.parse2(tokens) {
            errors.push(error);
        }
        options
    }

    /// `word = value`, or a bare word.
    fn option(&mut self, input: ParseStream) -> Result<()> {
        if !input.peek(Ident::peek_any) {
            return Err(Error::new(
                input.span(),
                "expected an option, as in `expire = 100`",
            ));
        }
        let word = input.call(Ident::parse_any)?;
        let text = word.to_string();
        if self.word(&text).is_some() {
            // Read on behind the value, so that only this is reported.
            if input.parse::<Option<Token![=]>>()?.is_some() {
                input.parse::<Expr>()?;
            }
            return Err(Error::new(
                word.span(),
                format!("`{text}` is given twice: keep one"),
            ));
        }
        self.given.push(word.clone());

        if text == word::EXPLICIT {
            self.explicit = Some(word.span());
            return Ok(());
        }
        if text == DONE {
            self.done = true;
            return Ok(());
        }
        let Some(example) = word::example(&text) else {
            return Err(word::unknown(&word));
        };
        if !input.peek(Token![=]) || input.peek(Token![==]) {
            return Err(Error::new(
                word.span(),
                format!("`{text}` needs a value: write `{example}`"),
            ));
        }
        input.parse::<Token![=]>()?;
        if input.is_empty() || input.peek(Token![,]) {
            return Err(Error::new(
                word.span(),
                format!("`{text}` needs a value: write `{example}`"),
            ));
        }
        self.value(&word, example, input)
    }

    fn value(&mut self, word: &Ident, example: &str, input: ParseStream) -> Result<()> {
        let text = word.to_string();
        if text == "crate" {
            let place = input.span();
            let path = input.call(Path::parse_mod_style).map_err(|_| {
                Error::new(
                    place,
                    format!("`crate` takes the path of the runtime: write `{example}`"),
                )
            })?;
            self.runtime = Some(path);
            return Ok(());
        }
        let value: Expr = input.parse()?;
        match text.as_str() {
            "expire" => self.expire = Some(Length::parse(&text, EXPIRE, value)?),
            "block" => self.block = Some(Length::parse(&text, Least::Zero, value)?),
            "at_least" => {
                self.at_least = Some(Length::parse(&text, Least::Milliseconds(1), value)?)
            }
            "interval" => {
                self.interval = Some(Length::parse(&text, Least::Milliseconds(1), value)?)
            }
            "retries" => self.retries = Some(Count::parse(&text, value)?),
            "on_timeout" => self.on_timeout = Some(Handler::parse(&text, value)?),
            "on_error" => self.on_error = Some(Handler::parse(&text, value)?),
            "on_lost" => self.on_lost = Some(OnLost::parse(value)?),
            "ns" => self.ns = Some(literal(&text, example, &value)?),
            "name" => self.name = Some(literal(&text, example, &value)?),
            "key" => self.key = Some(Key::parse(value)?),
            "guard" => self.guard = Some(Guard::parse(value)?),
            "client" => self.client = Some(value),
            _ => return Err(word::unknown(word)),
        }
        Ok(())
    }

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
        self.given.iter().find(|word| *word == option)
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

/// A text that is not empty.
fn literal(option: &str, example: &str, value: &Expr) -> Result<LitStr> {
    let Expr::Lit(ExprLit {
        lit: Lit::Str(text),
        ..
    }) = bare_expr(value)
    else {
        return Err(Error::new_spanned(
            value,
            format!(
                "`{option}` takes a text: write `{example}`; what varies from call to call belongs in `key`"
            ),
        ));
    };
    if text.value().is_empty() {
        return Err(Error::new(
            text.span(),
            format!("`{option}` is empty: leave it out, or write `{example}`"),
        ));
    }
    Ok(text.clone())
}

/// Goes on to the comma before the next option.
fn skip_option(input: ParseStream) -> Result<()> {
    while !input.is_empty() {
        if input.peek(Token![,]) {
            let next = input.fork();
            next.parse::<Token![,]>()?;
            if next.is_empty()
                || next.peek(Ident::peek_any) && (next.peek2(Token![=]) || next.peek2(Token![,]))
            {
                return Ok(());
            }
        }
        input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
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
