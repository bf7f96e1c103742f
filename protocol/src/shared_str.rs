//! [`SharedStr`]: a shared string.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A string that is cheap to clone. A `'static` string has no reference count: counting would dominate an uncontended
/// call.
#[derive(Clone)]
pub enum SharedStr {
    /// A text of the program.
    Fixed(&'static str),
    /// A text that its users share.
    Shared(Arc<str>),
}

impl SharedStr {
    /// No text.
    pub const EMPTY: Self = Self::Fixed("");
}

impl Deref for SharedStr {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Fixed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl Default for SharedStr {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl From<&'static str> for SharedStr {
    fn from(text: &'static str) -> Self {
        Self::Fixed(text)
    }
}

impl From<String> for SharedStr {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

impl From<Arc<str>> for SharedStr {
    fn from(text: Arc<str>) -> Self {
        Self::Shared(text)
    }
}

impl PartialEq for SharedStr {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        // Avoids `memcmp` of two empty strings, which took 14 % of the time of a handoff. Empty literals start at an
        // invalid address, where a masked load of no bytes is probably slow.
        self.len() == other.len() && (self.is_empty() || **self == **other)
    }
}

impl Eq for SharedStr {}

impl Hash for SharedStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
