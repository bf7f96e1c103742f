//! Parses `word = value, …`, each option on its own.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::buffer::Cursor;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Error, Expr, ExprLit, Lit, LitStr, Path, Result, Token};

use super::key::Part;
use super::word::{self, DONE, Word};
use super::{Given, Options, table, template};
use crate::errors::Errors;
use crate::kind::Kind;
use crate::source;
use crate::tokens::{bare_expr, text};

impl Options {
    /// Parses all options that are valid, and reports the others.
    pub(crate) fn parse(kind: Kind, span: Span, tokens: TokenStream, errors: &mut Errors) -> Self {
        let mut options = Self::of(kind, span);
        each(tokens, errors, |input| {
            let start = input.cursor();
            let read = options.option(input);
            if let Some(given) = options.given.last_mut() {
                given.text = source::text(between(start, input.cursor()));
            }
            read
        });
        options
    }

    /// Parses `word = value`, or a word without a value.
    fn option(&mut self, input: ParseStream) -> Result<()> {
        if !input.peek(Ident::peek_any) {
            return Err(Error::new(input.span(), word::missing(input)));
        }
        let word = input.call(Ident::parse_any)?;
        if word == DONE {
            self.done = true;
            return Ok(());
        }
        let row = table::row(&word.to_string()).ok_or_else(|| word::unknown(&word, self.kind))?;
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
        if let Some(message) = row.refused_by(self.kind) {
            return Err(Error::new(word.span(), message));
        }
        let given = Word::of(&word, row.name, row.example);
        self.given.push(Given {
            row,
            word,
            text: String::new(),
            inherited: false,
        });
        if row.has_value() {
            equals(&given, input)?;
        }
        (row.read)(self, &given, input)
    }
}

/// Parses a list of options, each with `option`. After an error, goes on with the next one.
pub(super) fn each(
    tokens: TokenStream,
    errors: &mut Errors,
    mut option: impl FnMut(ParseStream) -> Result<()>,
) {
    let read = |input: ParseStream| {
        while !input.is_empty() {
            let mut failed = option(input).err();
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
}

/// Parses the `=` after a word, which must have a value.
pub(super) fn equals(word: &Word, input: ParseStream) -> Result<()> {
    if !input.peek(Token![=]) || input.peek(Token![==]) {
        return Err(word.needs_value());
    }
    input.parse::<Token![=]>()?;
    match input.is_empty() || input.peek(Token![,]) {
        true => Err(word.needs_value()),
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

/// The hint at the end of the error for a value of `ns`, `name` or `was` that is not a text.
pub(super) const FIXED: &str = "what varies from call to call belongs in `key`";
/// The hint at the end of the error for a value of `order` that is not a text.
pub(super) const REASON: &str = "it says why this order of locks is intended";

/// Parses a non-empty text. The error for a value that is not a text ends with `hint`.
pub(super) fn literal(word: &Word, value: &Expr, hint: &str) -> Result<LitStr> {
    let Word {
        text: option,
        example,
        ..
    } = word;
    let Some(text) = text(value) else {
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
pub(super) fn flag(word: &Word, value: &Expr) -> Result<bool> {
    let Word {
        text: option,
        example,
        ..
    } = word;
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
pub(super) fn fixed(word: &Word, value: &Expr) -> Result<LitStr> {
    let option = &*word.text;
    let text = literal(word, value, FIXED)?;
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

/// Parses a template, or an expression.
pub(super) fn value(value: Expr) -> Result<Vec<Part>> {
    match text(&value) {
        Some(text) => template::parts("value", text),
        None => Ok(vec![Part::Value(value)]),
    }
}

/// Parses the word `abort` or `log`.
pub(super) fn overrun(value: Expr) -> Result<Ident> {
    let word = one_of(
        &value,
        ["abort", "log"],
        "`on_overrun` is `abort` (end the process before another can lead) or `log` (report it)",
    )?;
    let variant = if word == "abort" { "Abort" } else { "Log" };
    Ok(Ident::new(variant, Span::mixed_site()))
}

/// Parses one of two words.
pub(super) fn one_of(value: &Expr, words: [&str; 2], message: &str) -> Result<Ident> {
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
    let text = template::fixed("owner", text, |_, _, place| {
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
pub(super) fn guard(_: &Word, input: ParseStream) -> Result<Ident> {
    if input.peek(Token![mut]) || input.peek(Token![ref]) {
        return Err(input.error(ONLY_BORROWED));
    }
    let value: Expr = input.parse()?;
    match bare_expr(&value) {
        Expr::Path(path) if path.path.get_ident().is_some_and(|ident| ident != "self") => {
            Ok(path.path.segments[0].ident.clone())
        }
        Expr::Reference(_) => Err(Error::new_spanned(value, ONLY_BORROWED)),
        _ => Err(Error::new_spanned(
            value,
            "`guard` takes the name that the guard gets in the body: `guard = lock`",
        )),
    }
}

/// The error for a guard with `mut`, `ref` or `&`.
const ONLY_BORROWED: &str = "`guard` takes a plain name: the guard is a shared reference, which is all that its methods need: `guard = lock`";

/// Parses the path of the runtime.
pub(super) fn path(word: &Word, input: ParseStream) -> Result<Path> {
    let place = input.span();
    input.call(Path::parse_mod_style).map_err(|_| {
        let example = &word.example;
        Error::new(
            place,
            format!("`crate` takes the path of the runtime: write `{example}`"),
        )
    })
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
