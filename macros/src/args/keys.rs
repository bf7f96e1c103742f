//! Several locks at once: `[from, to]`, or an expression to iterate over.

use quote::ToTokens;
use syn::{Error, Expr, ExprArray, Result, UnOp};

use super::key::{self, Key, Part};
use crate::errors::Errors;
use crate::item::Params;
use crate::kind::Kind;
use crate::source;
use crate::tokens::bare_expr;

/// The value of `keys`.
#[derive(Clone)]
pub(crate) enum Keys {
    /// The parts of each.
    List(Vec<Vec<Part>>),
    /// What yields them, one part each.
    Each(Expr),
}

impl Keys {
    pub(crate) fn parse(value: Expr) -> Result<Self> {
        let wrong = |message| Err(Error::new_spanned(&value, message));
        if let Some(list) = list(&value) {
            if list.elems.is_empty() {
                return wrong("`keys` is empty: name at least one lock, as in `keys = [from, to]`");
            }
            return list
                .elems
                .iter()
                .map(parts)
                .collect::<Result<_>>()
                .map(Self::List);
        }
        match bare_expr(&value) {
            Expr::Tuple(tuple) if tuple.elems.is_empty() => {
                wrong("`()` is no list: for no keys, also none of the block, write `key = ()`")
            }
            Expr::Tuple(_) => wrong("several keys are a list: write `keys = [from, to]`"),
            Expr::Lit(_) => wrong(
                "`keys` takes a list, as in `keys = [from, to]`, or an expression to iterate over; a single lock has a `key`",
            ),
            _ => Ok(Self::Each(value)),
        }
    }

    /// Whether everything that it names is there.
    pub(crate) fn check(&self, kind: Kind, params: &Params, inherited: bool, errors: &mut Errors) {
        match self {
            Self::List(keys) => {
                for parts in keys {
                    key::check_parts(parts, kind, params, inherited, errors);
                }
            }
            Self::Each(values) => key::check_value(values, params, errors),
        }
    }

    /// As it is in the template of a name, in the place of a key.
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

/// Whether it is a place in memory, which the body may use as well: then it is only borrowed.
pub(crate) fn is_place(value: &Expr) -> bool {
    match value {
        Expr::Path(_) | Expr::Field(_) | Expr::Index(_) => true,
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)),
        Expr::Paren(paren) => is_place(&paren.expr),
        Expr::Group(group) => is_place(&group.expr),
        _ => false,
    }
}

/// `[a, b]`, or a reference to it.
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
