//! The kinds of attributes that take options.

use proc_macro2::{Ident, Span};
use syn::Attribute;

use crate::tokens::last_word;

/// An attribute that takes options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Mutex,
    Semaphore,
    Read,
    Write,
    Leader,
    /// `#[auto_mutex::test]`, which protects nothing.
    Test,
}

impl Kind {
    const PROTECTING: [Self; 5] = [
        Self::Mutex,
        Self::Semaphore,
        Self::Read,
        Self::Write,
        Self::Leader,
    ];

    /// The attribute's name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Mutex => "auto_mutex",
            Self::Semaphore => "auto_semaphore",
            Self::Read => "auto_read",
            Self::Write => "auto_write",
            Self::Leader => "auto_leader",
            Self::Test => "auto_mutex::test",
        }
    }

    /// The kind's name in the runtime.
    pub(crate) fn ident(self) -> Ident {
        Ident::new(&format!("{self:?}"), Span::mixed_site())
    }

    /// The name of the runtime's `HoldKind` for the holds of a call.
    pub(crate) fn hold(self) -> String {
        match self {
            Self::Semaphore => "Permit".to_owned(),
            Self::Read => "Reader".to_owned(),
            Self::Write => "Writer".to_owned(),
            same => format!("{same:?}"),
        }
    }

    /// The kind of an attribute that protects, by the last word of its path.
    pub(crate) fn of(attribute: &Attribute) -> Option<Self> {
        Self::named(&last_word(attribute.path()))
    }

    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::PROTECTING
            .into_iter()
            .find(|kind| kind.word() == word)
    }

    /// Whether an attribute of this kind and one of the kind `other` can use the same lock.
    pub(crate) fn shares_locks_with(self, other: Self) -> bool {
        let is_rw = |kind| matches!(kind, Self::Read | Self::Write);
        self == other || is_rw(self) && is_rw(other)
    }
}
