//! What a lock is per: an expression, a tuple of expressions, or a template like `"{user}:{order.id}"`.

use proc_macro2::{Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result};

use super::escape::escape;
use super::template;
use crate::errors::Errors;
use crate::item::Params;
use crate::kind::Kind;
use crate::source;
use crate::suggest;
use crate::tokens::{bare_expr, find_word};

/// The value of `key`.
#[derive(Clone)]
pub(crate) enum Key {
    /// `()`: no key, also none of the block.
    Dropped,
    /// Parts of the name, in order.
    Parts(Vec<Part>),
}

/// One part of a name.
#[derive(Clone)]
pub(crate) enum Part {
    /// Always the same.
    Text(LitStr),
    /// The value of an expression.
    Value(Expr),
    /// A placeholder between two texts.
    Shown {
        before: String,
        place: Place,
        after: String,
    },
}

/// A parameter, or a field of it.
#[derive(Clone)]
pub(crate) struct Place {
    pub(super) path: Vec<String>,
    pub(super) span: Span,
}

impl Key {
    pub(crate) fn parse(value: Expr) -> Result<Self> {
        match bare_expr(&value) {
            Expr::Tuple(tuple) if tuple.elems.is_empty() => Ok(Self::Dropped),
            Expr::Tuple(tuple) => tuple
                .elems
                .iter()
                .map(element)
                .collect::<Result<_>>()
                .map(Self::Parts),
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => template::parse(text).map(Self::Parts),
            Expr::Array(_) => Err(Error::new_spanned(
                &value,
                "several parts of one key are a tuple: `key = (a, b)`",
            )),
            _ => Ok(Self::Parts(vec![Part::Value(value)])),
        }
    }

    /// Whether everything that it names is there.
    pub(crate) fn check(&self, kind: Kind, params: &Params, inherited: bool, errors: &mut Errors) {
        if let Self::Parts(parts) = self {
            check_parts(parts, kind, params, inherited, errors);
        }
    }
}

/// Whether everything that they name is there.
pub(super) fn check_parts(
    parts: &[Part],
    kind: Kind,
    params: &Params,
    inherited: bool,
    errors: &mut Errors,
) {
    for part in parts {
        match part {
            Part::Text(_) => {}
            Part::Value(value) => check_value(value, params, errors),
            Part::Shown { place, .. } => place.check(kind, params, inherited, errors),
        }
    }
}

/// Whether the `self` that it may use is there.
pub(super) fn check_value(value: &Expr, params: &Params, errors: &mut Errors) {
    if !params.has_self()
        && let Some(span) = find_word(value.to_token_stream(), "self")
    {
        errors.at(span, NO_SELF);
    }
}

impl Part {
    /// As it is in the template of a name: texts escaped, what varies in braces.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) => escape(&text.value()),
            Self::Value(value) => format!("{{{}}}", source::text(value.to_token_stream())),
            Self::Shown {
                before,
                place,
                after,
            } => {
                let place = place.path.join(".");
                format!("{}{{{place}}}{}", escape(before), escape(after))
            }
        }
    }
}

const NO_SELF: &str =
    "there is no `self` here: the key of a function without a receiver is made of its parameters";

impl Place {
    fn check(&self, kind: Kind, params: &Params, inherited: bool, errors: &mut Errors) {
        let root = &self.path[0];
        if root == "self" {
            if !params.has_self() {
                errors.at(self.span, NO_SELF);
            }
            return;
        }
        if params.names().any(|name| name == root) {
            return;
        }
        let known = || params.names().chain(params.has_self().then_some("self"));
        let hint = if let Some(name) = suggest::nearest(root, known()) {
            format!("did you mean `{{{name}}}`?")
        } else if inherited {
            let attribute = kind.word();
            format!("give it a key of its own, or none: `#[{attribute}(key = ())]`")
        } else if known().next().is_none() {
            "it has none; `key = …` also takes an expression".to_owned()
        } else {
            let names: Vec<_> = known().map(|name| format!("`{{{name}}}`")).collect();
            format!("use {}, or an expression: `key = …`", names.join(", "))
        };
        errors.at(
            self.span,
            format!(
                "`{root}` is no parameter of `{}`: {hint}",
                params.function()
            ),
        );
    }
}

impl ToTokens for Place {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        for (i, word) in self.path.iter().enumerate() {
            if i > 0 {
                let mut dot = Punct::new('.', Spacing::Alone);
                dot.set_span(self.span);
                tokens.extend([TokenTree::from(dot)]);
            }
            let name = name(word, self.span).map(TokenTree::from);
            tokens.extend(name.or_else(|| {
                let mut index = Literal::usize_unsuffixed(index(word)?);
                index.set_span(self.span);
                Some(index.into())
            }));
        }
    }
}

/// The field of a tuple that `word` says.
pub(super) fn index(word: &str) -> Option<usize> {
    let digits = word.chars().all(|c| c.is_ascii_digit());
    word.parse().ok().filter(|_| digits)
}

/// What `word` names, if it can be a name: `type` is a parameter `r#type`, `self` cannot be raw, and `crate` is neither.
pub(super) fn name(word: &str, span: Span) -> Option<Ident> {
    if word == "self" {
        return Some(Ident::new(word, span));
    }
    let raw = format!("r#{word}");
    let mut ident = [word, &raw].into_iter().find_map(|text| {
        let ident = syn::parse_str::<Ident>(text).ok()?;
        (ident == text).then_some(ident)
    })?;
    ident.set_span(span);
    Some(ident)
}

fn element(value: &Expr) -> Result<Part> {
    let Expr::Lit(ExprLit {
        lit: Lit::Str(text),
        ..
    }) = bare_expr(value)
    else {
        return Ok(Part::Value(value.clone()));
    };
    if text.value().is_empty() {
        return Err(Error::new(text.span(), EMPTY));
    }
    if text.value().contains('{') {
        return Err(Error::new(
            text.span(),
            "a template stands alone: write `key = \"{a}:{b}\"`, or name the values: `key = (a, b)`",
        ));
    }
    Ok(Part::Text(text.clone()))
}

pub(super) const EMPTY: &str =
    "an empty part makes no lock of its own: leave it out, or name a parameter: `key = \"{id}\"`";
