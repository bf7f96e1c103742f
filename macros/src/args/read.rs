//! Parses `word = value, …`, each option on its own.

use std::time::Duration;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::buffer::Cursor;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, ExprLit, Lit, LitStr, Path, Result, Token};

use super::key::Part;
use super::word::{self, DONE};
use super::{Given, Length, Options, table, template};
use crate::errors::Errors;
use crate::kind::Kind;
use crate::source;
use crate::tokens::{bare_expr, text};

impl Options {
    /// Parses all options that are valid, and reports the others.
    pub(crate) fn parse(kind: Kind, span: Span, tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::of(kind, span);
        let read = |input: ParseStream| options.list(input, errors);
        if let Err(error) = read.parse2(tokens) {
            errors.push(error);
        }
        options
    }

    /// Parses a list of options. After an error, goes on with the next one.
    fn list(&mut self, input: ParseStream, errors: &mut Errors) -> Result<()> {
        while !input.is_empty() {
            let start = input.cursor();
            let mut failed = self.option(input).err();
            if let Some(given) = self.given.last_mut() {
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
    }

    /// Parses `word = value`, or a word without a value.
    fn option(&mut self, input: ParseStream) -> Result<()> {
        if !input.peek(Ident::peek_any) {
            return Err(Error::new(input.span(), word::missing(input, self.kind)));
        }
        let word = input.call(Ident::parse_any)?;
        if word == DONE {
            self.done = true;
            return Ok(());
        }
        let row = table::row(&word.to_string(), |row| (row.is_of)(self.kind));
        let row = row.ok_or_else(|| word::unknown(&word, self.kind))?;
        if let Some(before) = self.given(row.name) {
            let message = match before.word == word {
                true => format!("`{word}` is given twice: keep one"),
                false => format!("`{word}` is another word for `{}`: keep one", before.word),
            };
            // Skip the value, so that only this error is reported.
            if input.parse::<Option<Token![=]>>()?.is_some() {
                input.parse::<Expr>()?;
            }
            return Err(Error::new(word.span(), message));
        }
        if let Some(why) = row.refused_by(self.kind) {
            let message = why.replace("{}", &word.to_string());
            return Err(Error::new(word.span(), message));
        }
        let given = Given {
            row,
            word,
            text: String::new(),
            inherited: false,
        };
        self.given.push(given.clone());
        if row.has_value() {
            equals(&given, input)?;
        }
        (row.read)(self, &given, input)
    }
}

/// Parses the `=` after a word, which must have a value.
fn equals(given: &Given, input: ParseStream) -> Result<()> {
    let missing = || given.error(&given.word, "needs a value");
    if !input.peek(Token![=]) || input.peek(Token![==]) {
        return Err(missing());
    }
    input.parse::<Token![=]>()?;
    match input.is_empty() || input.peek(Token![,]) {
        true => Err(missing()),
        false => Ok(()),
    }
}

/// The tokens between two positions.
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

/// The shortest `stop_within` before an abort. The runtime has the same limit.
const SHORTEST_STOP: Duration = Duration::from_millis(100);

/// What is said of a value of `ns`, `name` or `was` that is not a text.
pub(super) const FIXED: &str = "takes a text, and what varies from call to call belongs in `key`";
/// What is said of a value of `order` that is not a text.
pub(super) const REASON: &str = "takes a text, which says why this order of locks is intended";

/// Whether a body that is aborted has too little time to end.
pub(super) fn stops_too_soon(options: &Options) -> bool {
    let aborts = options
        .on_overrun
        .as_ref()
        .is_some_and(|word| word == "abort");
    aborts && matches!(options.stop_within, Some(Length::Known(time)) if time < SHORTEST_STOP)
}

/// Parses a non-empty text. The error for a value that is not a text says `what` the option takes.
pub(super) fn literal(given: &Given, value: &Expr, what: &str) -> Result<LitStr> {
    match text(value) {
        Some(text) if text.value().is_empty() => Err(given.error(text, "is empty")),
        Some(text) => Ok(text.clone()),
        None if matches!(bare_expr(value), Expr::Macro(_)) => Err(given.error(
            value,
            "takes a text, and macros are expanded too late for this",
        )),
        None => Err(given.error(value, what)),
    }
}

/// Parses `true` or `false`.
pub(super) fn flag(given: &Given, value: &Expr) -> Result<bool> {
    match bare_expr(value) {
        Expr::Lit(ExprLit {
            lit: Lit::Bool(flag),
            ..
        }) => Ok(flag.value),
        _ => Err(given.error(value, "is `true` or `false`, the same for every call")),
    }
}

/// Parses the value of `name` or `ns`.
pub(super) fn fixed(given: &Given, value: &Expr) -> Result<LitStr> {
    let option = &given.word;
    let text = literal(given, value, FIXED)?;
    template::fixed(given.row.name, &text, |place| {
        let key = match place.shown() {
            path if template::is_constant(&path) => path,
            path => format!("\"{{{path}}}\""),
        };
        format!("`{option}` is the same for every call: write `key = {key}` for a lock per value")
    })
}

/// Parses a template, or an expression.
pub(super) fn value(value: Expr) -> Result<Vec<Part>> {
    match text(&value) {
        Some(text) => template::parts("value", text),
        None => Ok(vec![Part::Computed(value)]),
    }
}

/// Parses one of two words.
pub(super) fn one_of(value: &Expr, words: &[&str], message: &str) -> Result<Ident> {
    let word = match bare_expr(value) {
        Expr::Path(path) => path.path.get_ident(),
        _ => None,
    };
    let known = word.filter(|word| words.iter().any(|known| word == known));
    known
        .cloned()
        .ok_or_else(|| Error::new_spanned(value, message))
}

/// Rejects an owner that is a template, because a text is the same owner for all calls.
pub(super) fn owner(value: Expr) -> Result<Expr> {
    let Some(text) = text(&value) else {
        return Ok(value);
    };
    let text = template::fixed("owner", text, |place| {
        format!(
            "`owner` takes an expression, not a template: write `owner = {}`",
            place.shown()
        )
    })?;
    Ok(Expr::Lit(ExprLit {
        attrs: Vec::new(),
        lit: Lit::Str(text),
    }))
}

/// Parses a plain name.
pub(super) fn guard(given: &Given, input: ParseStream) -> Result<Ident> {
    let place = input.cursor().token_tree().map(|(token, _)| token);
    let what = "takes the plain name under which the body borrows the guard";
    input.parse().map_err(|_| given.error(place, what))
}

/// Parses the path of the runtime.
pub(super) fn path(given: &Given, input: ParseStream) -> Result<Path> {
    let place = input.cursor().token_tree().map(|(token, _)| token);
    let path = input.call(Path::parse_mod_style);
    path.map_err(|_| given.error(place, "takes the path of the runtime"))
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
