//! The old name of a lock, from the option `was`.

use syn::{Error, LitStr, Result};

use super::key::{EMPTY, Part};
use super::row::Value;
use super::template;

/// Stands for the namespace of the new name, at the beginning of an old one.
const NAMESPACE: &str = "{namespace}:";

/// A complete old name, or one without its key.
#[derive(Clone)]
pub(crate) struct Was {
    /// Whether the old name begins with the new one's namespace.
    pub(crate) in_namespace: bool,
    /// The parts before the first placeholder.
    pub(crate) fixed: LitStr,
    /// The parts from the first placeholder on. If there are any, the name is complete, and the key is not appended.
    pub(crate) parts: Vec<Part>,
}

impl Was {
    pub(super) fn parse(text: &LitStr) -> Result<Self> {
        let value = text.value();
        let below = value.strip_prefix(NAMESPACE);
        if below == Some("") {
            return Err(Error::new(text.span(), EMPTY));
        }
        let below_namespace = below.map(|below| LitStr::new(below, text.span()));
        let name = below_namespace.as_ref().unwrap_or(text);
        let (fixed, parts) = template::split("was", name)?;
        Ok(Self {
            in_namespace: below.is_some(),
            fixed,
            parts,
        })
    }
}

impl Value for Was {
    fn parts(&self) -> Vec<&Part> {
        self.parts.iter().collect()
    }
}
