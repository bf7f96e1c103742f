//! The keys of the locks that a call takes. `key` is an expression, a tuple of expressions, or a template like
//! `"{user}:{order.id}"`. `keys` is a list of such keys, or an expression to iterate over.

use quote::ToTokens;
use syn::{Error, Expr, ExprArray, Result, UnOp};

use super::key::{EMPTY, Part};
use super::row::Value;
use super::template;
use crate::source;
use crate::tokens::{bare_expr, text};

/// The value of `key`.
#[derive(Clone)]
pub(crate) enum Key {
    /// `()`: no key, not even that of the block.
    Dropped,
    /// The parts of the key, in order.
    Parts(Vec<Part>),
}

impl Key {
    pub(crate) fn parse(value: Expr) -> Result<Self> {
        if let Some(text) = text(&value) {
            return template::key(text).map(Self::Parts);
        }
        match bare_expr(&value) {
            Expr::Tuple(tuple) if tuple.elems.is_empty() => Ok(Self::Dropped),
            Expr::Tuple(tuple) => tuple
                .elems
                .iter()
                .map(element)
                .collect::<Result<_>>()
                .map(Self::Parts),
            Expr::Array(_) => Err(Error::new_spanned(
                &value,
                "several parts of one key are a tuple: `key = (a, b)`",
            )),
            _ => Ok(Self::Parts(vec![Part::Computed(value)])),
        }
    }
}

impl Value for Key {
    fn parts(&self) -> Vec<&Part> {
        match self {
            Self::Dropped => Vec::new(),
            Self::Parts(parts) => parts.iter().collect(),
        }
    }
}

/// An element of the tuple `(a, "text")`.
fn element(value: &Expr) -> Result<Part> {
    let Some(text) = text(value) else {
        return Ok(Part::Computed(value.clone()));
    };
    if text.value().is_empty() {
        return Err(Error::new(text.span(), EMPTY));
    }
    if text.value().contains('{') {
        return Err(Error::new(
            text.span(),
            "a template cannot be a part of a tuple: write `key = \"{a}:{b}\"`, or name the values: `key = (a, b)`",
        ));
    }
    Ok(Part::Text(text.clone()))
}

/// The value of `keys`.
#[derive(Clone)]
pub(crate) enum Keys {
    /// The parts of each key.
    List(Vec<Vec<Part>>),
    /// An expression that yields the keys; each key has one part.
    Each(Expr),
}

impl Keys {
    pub(crate) fn parse(value: Expr) -> Result<Self> {
        match list(&value) {
            Some(list) if !list.elems.is_empty() => {
                let keys = list.elems.iter().map(parts);
                keys.collect::<Result<_>>().map(Self::List)
            }
            None if !matches!(bare_expr(&value), Expr::Tuple(_) | Expr::Lit(_)) => {
                Ok(Self::Each(value))
            }
            _ => Err(Error::new_spanned(
                value,
                "`keys` takes a list, as in `keys = [from, to]`, or an expression to iterate over; \
                 a single lock has a `key`, and `key = ()` drops the keys of the block",
            )),
        }
    }

    /// The keys as shown in the template of the lock's name.
    pub(crate) fn shown(&self) -> String {
        let keys = match self {
            Self::List(keys) => {
                let key = |parts: &Vec<Part>| {
                    let parts: Vec<_> = parts.iter().map(Part::shown).collect();
                    parts.join(":")
                };
                keys.iter().map(key).collect::<Vec<_>>().join(", ")
            }
            Self::Each(values) => format!("{{{}}}", source::text(values.to_token_stream())),
        };
        format!("[{keys}]")
    }
}

impl Value for Keys {
    fn parts(&self) -> Vec<&Part> {
        match self {
            Self::List(keys) => keys.iter().flatten().collect(),
            Self::Each(_) => Vec::new(),
        }
    }
}

/// Whether this is a place expression. The expansion only borrows it, because the body may use the same place.
pub(crate) fn is_place(value: &Expr) -> bool {
    match value {
        Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => true,
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)),
        Expr::Paren(paren) => is_place(&paren.expr),
        Expr::Group(group) => is_place(&group.expr),
        _ => false,
    }
}

/// The elements of `[a, b]` or `&[a, b]`; `None` for another expression.
fn list(value: &Expr) -> Option<&ExprArray> {
    match bare_expr(value) {
        Expr::Array(list) => Some(list),
        Expr::Reference(reference) => list(&reference.expr),
        _ => None,
    }
}

fn parts(value: &Expr) -> Result<Vec<Part>> {
    match Key::parse(value.clone())? {
        Key::Parts(parts) => Ok(parts),
        Key::Dropped => Err(Error::new_spanned(
            value,
            "`()` names no lock: leave it out",
        )),
    }
}
