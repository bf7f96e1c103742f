//! The kinds of attributes that protect a function.

use proc_macro2::{Ident, Span};
use syn::Attribute;

use crate::tokens::last_word;

/// The attributes that protect a function.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    #[default]
    Mutex,
    Semaphore,
    Read,
    Write,
    Leader,
}

impl Kind {
    const ALL: [Self; 5] = [
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
        }
    }

    /// The kind's name in the runtime.
    pub(crate) fn ident(self) -> Ident {
        let ident = match self {
            Self::Mutex => "Mutex",
            Self::Semaphore => "Semaphore",
            Self::Read => "Read",
            Self::Write => "Write",
            Self::Leader => "Leader",
        };
        Ident::new(ident, Span::mixed_site())
    }

    /// The name of the runtime's `HoldKind` for the holds of a call.
    pub(crate) fn hold(self) -> &'static str {
        match self {
            Self::Mutex => "Mutex",
            Self::Semaphore => "Permit",
            Self::Read => "Reader",
            Self::Write => "Writer",
            Self::Leader => "Leader",
        }
    }

    /// The kind of an attribute, by the last word of its path.
    pub(crate) fn of(attribute: &Attribute) -> Option<Self> {
        Self::named(&last_word(attribute.path()))
    }

    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether an attribute of this kind and one of the kind `other` can use the same lock.
    pub(crate) fn shares_locks_with(self, other: Self) -> bool {
        let is_rw = |kind| matches!(kind, Self::Read | Self::Write);
        self == other || is_rw(self) && is_rw(other)
    }
}
