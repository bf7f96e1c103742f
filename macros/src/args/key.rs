//! What a lock is per: an expression, a tuple of expressions, or a template like `"{user}:{order.id}"`.

use proc_macro2::{Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Result};

use crate::errors::Errors;
use crate::item::Params;
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
    path: Vec<String>,
    span: Span,
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
            }) => template(text).map(Self::Parts),
            Expr::Array(_) => Err(Error::new_spanned(
                &value,
                "several parts of one key are a tuple: `key = (a, b)`",
            )),
            _ => Ok(Self::Parts(vec![Part::Value(value)])),
        }
    }

    /// Whether everything that it names is there.
    pub(crate) fn check(&self, params: &Params, inherited: bool, errors: &mut Errors) {
        let Self::Parts(parts) = self else { return };
        for part in parts {
            match part {
                Part::Text(_) => {}
                Part::Value(expr) => {
                    if !params.has_self()
                        && let Some(span) = find_word(expr.to_token_stream(), "self")
                    {
                        errors.at(span, NO_SELF);
                    }
                }
                Part::Shown { place, .. } => place.check(params, inherited, errors),
            }
        }
    }
}

const NO_SELF: &str =
    "there is no `self` here: the key of a function without a receiver is made of its parameters";

impl Place {
    fn check(&self, params: &Params, inherited: bool, errors: &mut Errors) {
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
            "give it a key of its own, or none: `#[auto_mutex(key = ())]`".to_owned()
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
            tokens.extend([match word.parse() {
                Ok(index) => {
                    let mut index = Literal::usize_unsuffixed(index);
                    index.set_span(self.span);
                    TokenTree::from(index)
                }
                Err(_) => ident(word, self.span).into(),
            }]);
        }
    }
}

/// `type` is a parameter `r#type`; `self` cannot be raw.
fn ident(word: &str, span: Span) -> Ident {
    syn::parse_str::<Ident>(word)
        .map(|mut ident| {
            ident.set_span(span);
            ident
        })
        .unwrap_or_else(|_| match word {
            "self" => Ident::new(word, span),
            word => Ident::new_raw(word, span),
        })
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

const EMPTY: &str =
    "an empty part makes no lock of its own: leave it out, or name a parameter: `key = \"{id}\"`";

/// Input:  `"user-{id}:{order.n}"`
/// Output: `user-` id ``, then `` order.n ``
fn template(text: &LitStr) -> Result<Vec<Part>> {
    let wrong = |message: &str| Err(Error::new(text.span(), message));
    let value = text.value();
    if value.is_empty() {
        return wrong(EMPTY);
    }

    let mut parts = Vec::new();
    let mut part = Draft::default();
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' | '}' if chars.peek() == Some(&c) => {
                chars.next();
                part.text(c);
            }
            '{' => {
                let mut inside = String::new();
                loop {
                    match chars.next() {
                        Some('}') => break,
                        Some('{') | None => {
                            return wrong(
                                "unbalanced `{`: close the placeholder with `}`, or write `{{` for a brace",
                            );
                        }
                        Some(c) => inside.push(c),
                    }
                }
                if part.place.is_some() {
                    return wrong(
                        "two placeholders in one part: separate them with `:`, so that distinct values never make the same name",
                    );
                }
                part.place = Some(place(inside.trim(), text.span())?);
            }
            '}' => {
                return wrong(
                    "unbalanced `}`: open the placeholder with `{`, or write `}}` for a brace",
                );
            }
            ':' => parts.push(std::mem::take(&mut part).finish(text)?),
            c => part.text(c),
        }
    }
    parts.push(part.finish(text)?);
    Ok(parts)
}

#[derive(Default)]
struct Draft {
    before: String,
    place: Option<Place>,
    after: String,
}

impl Draft {
    fn text(&mut self, c: char) {
        match self.place {
            Some(_) => self.after.push(c),
            None => self.before.push(c),
        }
    }

    fn finish(self, text: &LitStr) -> Result<Part> {
        let Self {
            before,
            place,
            after,
        } = self;
        match place {
            Some(place) => Ok(Part::Shown {
                before,
                place,
                after,
            }),
            None if before.is_empty() => Err(Error::new(text.span(), EMPTY)),
            None => Ok(Part::Text(LitStr::new(&before, text.span()))),
        }
    }
}

fn place(inside: &str, span: Span) -> Result<Place> {
    let wrong = |message: String| Err(Error::new(span, message));
    if inside.is_empty() {
        return wrong("`{}` names nothing: write the parameter, as in `{id}`".to_owned());
    }
    if inside.contains(':') {
        return wrong(format!(
            "a placeholder is shown by `Display`, without a format: `{{{}}}`; for more use an expression: `key = …`",
            inside.split(':').next().unwrap_or_default().trim(),
        ));
    }
    let path: Vec<String> = inside
        .split('.')
        .map(|word| word.trim().trim_start_matches("r#").to_owned())
        .collect();
    let is_name = |word: &str| {
        word.chars()
            .enumerate()
            .all(|(i, c)| c == '_' || c.is_alphabetic() || i > 0 && c.is_alphanumeric())
            && !word.is_empty()
    };
    let is_field = |word: &String| {
        is_name(word) || !word.is_empty() && word.chars().all(|c| c.is_ascii_digit())
    };
    if !is_name(&path[0]) || !path[1..].iter().all(is_field) {
        return wrong(format!(
            "`{{{inside}}}` is neither a parameter nor a field of one: use an expression, as in `key = {inside}`"
        ));
    }
    Ok(Place { path, span })
}
