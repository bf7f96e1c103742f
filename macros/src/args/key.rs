//! The parts of a key: texts, expressions, and placeholders like `{order.id}`.

use proc_macro2::{Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, LitStr};

use super::escape::escape;
use super::row::Value;
use super::template::{instead, is_constant};
use crate::errors::Errors;
use crate::kind::Kind;
use crate::params::Params;
use crate::source;
use crate::suggest;
use crate::tokens::ours;

/// One part of a name.
#[derive(Clone)]
pub(crate) enum Part {
    /// A fixed text.
    Text(LitStr),
    /// The value of an expression.
    Computed(Expr),
    /// A placeholder between two texts.
    Shown {
        before: String,
        place: Place,
        after: String,
    },
}

/// The parameter, or the field of a parameter, in a placeholder.
#[derive(Clone)]
pub(crate) struct Place {
    pub(super) path: Vec<String>,
    /// Whether the template consists of this placeholder.
    pub(super) alone: bool,
    pub(super) span: Span,
}

/// The parts of `value`, one after the other.
impl Value for Vec<Part> {
    fn parts(&self) -> Vec<&Part> {
        self.iter().collect()
    }
}

impl Part {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.value().is_empty())
    }

    /// The placeholder, if the part has one.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            Self::Shown { place, .. } => Some(place),
            Self::Text(_) | Self::Computed(_) => None,
        }
    }

    /// The part as shown in the template of a name: fixed texts are escaped, and variable parts are in braces.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Text(text) => escape(&text.value()),
            Self::Computed(value) => format!("{{{}}}", source::text(value.to_token_stream())),
            Self::Shown {
                before,
                place,
                after,
            } => {
                let place = place.shown();
                format!("{}{{{place}}}{}", escape(before), escape(after))
            }
        }
    }
}

impl Place {
    /// The parameter or field, as the user wrote it.
    pub(super) fn shown(&self) -> String {
        self.path.join(".")
    }

    /// Reports a place of `option` that is no parameter. The option is `inherited` if it is one of the block.
    pub(super) fn check(
        &self,
        option: &str,
        inherited: bool,
        kind: Kind,
        params: &Params,
        errors: &mut Errors,
    ) {
        let root = &*self.path[0];
        let known: Vec<&str> = params.names.iter().map(String::as_str).collect();
        if known.contains(&root) {
            return;
        }
        let (function, attribute) = (&params.function, kind.word());
        let hint = if is_constant(root) && self.path.len() == 1 {
            instead(option, root, self.alone)
        } else if let Some(name) = suggest::nearest(root, known.iter().copied()) {
            format!("did you mean `{{{name}}}`?")
        } else if inherited {
            format!(
                "the block's key needs it; write `#[{attribute}(key = …)]` on `{function}` for its own key, `#[{attribute}(key = ())]` for none"
            )
        } else {
            let mut usable: Vec<_> = known.iter().map(|name| format!("`{{{name}}}`")).collect();
            if option != "was" {
                usable.push(format!("an expression: `{option} = …`"));
            }
            match usable.is_empty() {
                true => "it has none".to_owned(),
                false => format!("use {}", usable.join(" or ")),
            }
        };
        errors.at(
            self.span,
            format!("`{root}` is no parameter of `{function}`: {hint}"),
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
            // With the user's span on the field, the compiler would propose to replace the whole template.
            let span = if i > 0 { ours(self.span) } else { self.span };
            let name = name(word, span).map(TokenTree::from);
            tokens.extend(name.or_else(|| {
                let mut index = Literal::usize_unsuffixed(index(word)?);
                index.set_span(span);
                Some(index.into())
            }));
        }
    }
}

/// The index of a tuple's field, if `word` is an index.
pub(super) fn index(word: &str) -> Option<usize> {
    let digits = word.chars().all(|c| c.is_ascii_digit());
    word.parse().ok().filter(|_| digits)
}

/// The identifier for `word`: `type` becomes `r#type`, and `self` stays. `None` for `crate`.
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

pub(super) const EMPTY: &str =
    "an empty part does not distinguish locks: leave it out, or name a parameter: `key = \"{id}\"`";
