//! Parses `word = value, …`, each option on its own.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::buffer::Cursor;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, ExprLit, Lit, LitStr, Path, Result, Token};

use super::length::Least;
use super::word::{self, DONE};
use super::{Count, Given, Guard, Handler, Key, Keys, Length, OnLost, Options, Was, template};
use crate::errors::Errors;
use crate::kind::Kind;
use crate::source;
use crate::tokens::bare_expr;

/// The shortest `expire`: a shorter hold would end before it could be used. The runtime has the same limit.
const EXPIRE: Least = Least::Milliseconds(10);

/// The greatest number of permits. A capacity that is greater by one marks a readers-writer lock.
const MOST_PERMITS: u32 = (1 << 30) - 1;

impl Options {
    /// Parses all options that are valid, and reports the others.
    pub(crate) fn parse(kind: Kind, span: Span, tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::of(kind, span);
        let read = |input: ParseStream| {
            while !input.is_empty() {
                let start = input.cursor();
                let mut failed = options.option(input).err();
                if let Some(given) = options.given.last_mut() {
                    given.text = source::text(between(start, input.cursor()));
                }
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

    /// Parses `word = value`, or a word without a value.
    fn option(&mut self, input: ParseStream) -> Result<()> {
        if !input.peek(Ident::peek_any) {
            return Err(Error::new(input.span(), word::missing(input)));
        }
        let word = input.call(Ident::parse_any)?;
        let text = word.to_string();
        let option = word::option(&text);
        if let Some(before) = self.given.iter().find(|given| given.word == option) {
            let message = match before.written() == text {
                true => format!("`{text}` is given twice: keep one"),
                false => format!(
                    "`{text}` is another word for `{}`: keep one",
                    before.written()
                ),
            };
            // Skips the value, so that only this error is reported.
            if input.parse::<Option<Token![=]>>()?.is_some() {
                input.parse::<Expr>()?;
            }
            return Err(Error::new(word.span(), message));
        }
        if let Some(message) = word::misplaced(&text, self.kind) {
            return Err(Error::new(word.span(), message));
        }
        self.given.push(Given {
            word: match option == text {
                true => word.clone(),
                false => Ident::new(option, word.span()),
            },
            text: String::new(),
        });

        if text == word::EXPLICIT {
            self.explicit = Some(word.span());
            return Ok(());
        }
        if text == DONE {
            self.done = true;
            return Ok(());
        }
        let Some(example) = word::example(option) else {
            return Err(word::unknown(&word, self.kind));
        };
        let example = &example.replacen(option, &text, 1);
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
        if text == "guard" && (input.peek(Token![mut]) || input.peek(Token![ref])) {
            return Err(input.error(super::ONLY_BORROWED));
        }
        let value: Expr = input.parse()?;
        match word::option(&text) {
            "expire" => self.expire = Some(Length::parse(&text, EXPIRE, value)?),
            "block" => self.block = Some(Length::parse(&text, Least::Zero, value)?),
            "at_least" => {
                self.at_least = Some(Length::parse(&text, Least::Milliseconds(1), value)?)
            }
            "interval" => {
                self.interval = Some(Length::parse(&text, Least::Milliseconds(1), value)?)
            }
            "retries" => self.retries = Some(Count::parse(&text, 0..=u32::MAX, value)?),
            "permits" => self.permits = Some(Count::parse(&text, 1..=MOST_PERMITS, value)?),
            "on_timeout" => self.on_timeout = Some(Handler::parse(&text, value)?),
            "on_error" => self.on_error = Some(Handler::parse(&text, value)?),
            "on_lost" => self.on_lost = Some(OnLost::parse(value)?),
            "ns" => self.ns = Some(fixed(&text, example, &value)?),
            "name" => self.name = Some(fixed(&text, example, &value)?),
            "key" => self.key = Some(Key::parse(value)?),
            "keys" => self.keys = Some(Keys::parse(value)?),
            "was" => self.was = Some(Was::parse(&literal(&text, example, &value, FIXED)?)?),
            "owner" => self.owner = Some(owner(value)?),
            "order" => self.order = Some(literal(&text, example, &value, REASON)?),
            "reentrant" => self.reentrant = Some(flag(&text, example, &value)?),
            "guard" => self.guard = Some(Guard::parse(value)?),
            "client" => self.client = Some(value),
            _ => return Err(word::unknown(word, self.kind)),
        }
        Ok(())
    }
}

/// The tokens between two places.
fn between(start: Cursor, end: Cursor) -> TokenStream {
    let mut place = start;
    let mut tokens = TokenStream::new();
    while place != end
        && let Some((token, next)) = place.token_tree()
    {
        tokens.extend([token]);
        place = next;
    }
    tokens
}

/// The hint at the end of the error for a value of `ns`, `name` or `was` that is not a text.
const FIXED: &str = "what varies from call to call belongs in `key`";
/// The hint at the end of the error for a value of `order` that is not a text.
const REASON: &str = "it says why this order of locks is meant";

/// Parses a non-empty text. The error for a value that is not a text ends with `hint`.
fn literal(option: &str, example: &str, value: &Expr, hint: &str) -> Result<LitStr> {
    let Expr::Lit(ExprLit {
        lit: Lit::Str(text),
        ..
    }) = bare_expr(value)
    else {
        let hint = match bare_expr(value) {
            Expr::Macro(_) => "macros are expanded too late for this, so write the text out",
            _ => hint,
        };
        return Err(Error::new_spanned(
            value,
            format!("`{option}` takes a text: write `{example}`; {hint}"),
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

/// Parses `true` or `false`.
fn flag(option: &str, example: &str, value: &Expr) -> Result<bool> {
    match bare_expr(value) {
        Expr::Lit(ExprLit {
            lit: Lit::Bool(flag),
            ..
        }) => Ok(flag.value),
        _ => Err(Error::new_spanned(
            value,
            format!("`{option}` is `true` or `false`, the same for every call: write `{example}`"),
        )),
    }
}

/// Parses the value of `name` or `ns`.
fn fixed(option: &str, example: &str, value: &Expr) -> Result<LitStr> {
    let text = literal(option, example, value, FIXED)?;
    template::fixed(option, &text, |before, after, place| {
        let key = match place.shown() {
            path if template::is_constant(&path) => path,
            _ => format!("\"{after}\""),
        };
        let before = match option {
            "name" if !before.is_empty() => format!("name = \"{before}\", "),
            _ => String::new(),
        };
        format!(
            "`{option}` is the same for every call: write `{before}key = {key}` for a lock per value"
        )
    })
}

/// Refuses an owner that is a template, because a text is one owner for all calls.
fn owner(value: Expr) -> Result<Expr> {
    let Expr::Lit(ExprLit {
        lit: Lit::Str(text),
        attrs,
    }) = bare_expr(&value)
    else {
        return Ok(value);
    };
    let text = template::fixed("owner", text, |_, _, place| {
        format!(
            "`owner` takes an expression, not a template: write `owner = {}`",
            place.shown()
        )
    })?;
    Ok(Expr::Lit(ExprLit {
        attrs: attrs.clone(),
        lit: Lit::Str(text),
    }))
}

/// Skips to the comma before the next option.
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
        input.parse::<TokenTree>()?;
    }
    Ok(())
}
