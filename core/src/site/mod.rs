//! [`Site`]: the compile-time description of an annotated function, and the names derived from it.

mod declared;
mod duplicates;
mod label;
mod lengths;
mod list;
mod name;
mod section;
mod type_name;

use std::fmt;
use std::sync::OnceLock;

use crate::base::error::HoldKind;
use crate::base::name::{Name, NameBuilder};

pub use declared::Declared;
pub(crate) use duplicates::{find_duplicates, note_holder};
use label::SiteLabel;
pub(crate) use lengths::Lengths;
pub use list::sites;

/// An annotated function of this program, as listed by [`sites`].
#[non_exhaustive]
pub struct Site {
    pub(crate) data: SiteData,
    /// Values that are the same for all calls with the first client.
    of_client: OnceLock<OfClient>,
    /// The labels for the types that the site was called with, if its names depend on the type of `Self`.
    labels: OnceLock<Box<SiteLabel>>,
}

#[derive(Clone, Copy)]
pub(crate) struct SiteData {
    /// The package of the annotated crate. It is part of every derived name, so that two programs in one namespace
    /// never share a lock by accident.
    pub(crate) package: Option<&'static str>,
    pub(crate) module: &'static str,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    pub(crate) kind: HoldKind,
    pub(crate) owner: Owner,
    pub(crate) function: &'static str,
    pub(crate) namespace: Option<&'static str>,
    /// The parts of the key: escaped texts, and expressions in braces.
    pub(crate) key: &'static [&'static str],
    pub(crate) options: &'static str,
    pub(crate) order: Option<&'static str>,
    pub(crate) reentrant: Option<bool>,
    /// Those that are literals.
    pub(crate) lengths: Lengths,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    /// A free function's module path, without the crate.
    Module,
    /// The type, as the header of the block spells it.
    Type(&'static str),
    /// The type `Self`, where the macro does not see its name.
    SelfType,
    /// `name = "…"`: replaces package, type and function in the name.
    Named(&'static str),
}

#[derive(Debug)]
pub(crate) struct OfClient {
    pub(crate) id: u64,
    pub(crate) meta: String,
    /// The name without a key; `None` if invalid, or dependent on the type of `Self`.
    pub(crate) name: Option<Name>,
    /// The same name before a key is added; `None` if it depends on the type of `Self`.
    pub(crate) scope: Option<NameBuilder>,
}

impl Site {
    pub(crate) fn new(data: SiteData) -> Self {
        Self {
            data,
            of_client: OnceLock::new(),
            labels: OnceLock::new(),
        }
    }

    /// `auto_mutex`, `auto_semaphore`, `auto_read`, `auto_write` or `auto_leader`.
    #[must_use]
    pub fn attribute(&self) -> &'static str {
        match self.data.kind {
            HoldKind::Permit => "auto_semaphore",
            HoldKind::Reader => "auto_read",
            HoldKind::Writer => "auto_write",
            HoldKind::Leader => "auto_leader",
            _ => "auto_mutex",
        }
    }

    /// Whether all functions of a type share a lock.
    fn is_per_type(&self) -> bool {
        matches!(self.data.kind, HoldKind::Reader | HoldKind::Writer)
    }

    /// The options as written in the code: first those of the function, then those of its block.
    #[must_use]
    pub fn options(&self) -> &'static str {
        self.data.options
    }

    /// The name of the function.
    #[must_use]
    pub fn function(&self) -> &'static str {
        self.data.function
    }

    /// The path of the function's module, with the crate first.
    #[must_use]
    pub fn module(&self) -> &'static str {
        self.data.module
    }

    /// The path of the function's file, as given to the compiler.
    #[must_use]
    pub fn file(&self) -> &'static str {
        self.data.file
    }

    /// The line with the function's name.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.data.line
    }

    /// The cached values for the client `id`, if that was the function's first client. Most programs have only one.
    #[inline]
    pub(crate) fn of_client(&self, id: u64, make: impl FnOnce() -> OfClient) -> Option<&OfClient> {
        let first = self.of_client.get_or_init(make);
        (first.id == id).then_some(first)
    }

    /// The package of the annotated crate, or the crate's name. In a program that has another name than its package,
    /// that name follows after a colon.
    pub(crate) fn package(&self) -> &'static str {
        let krate = || self.data.module.split("::").next().unwrap_or_default();
        self.data.package.unwrap_or_else(krate)
    }

    pub(crate) fn is_fixed(&self) -> bool {
        !matches!(self.data.owner, Owner::SelfType)
    }

    pub(crate) fn location(&self) -> String {
        let (data, line) = (&self.data, self.data.line);
        format!("{}::{} at {}:{line}", data.module, data.function, data.file)
    }
}

/// Shows name, attribute and function, but not file and line. Moving a function within its file thus changes no list of
/// sites.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} #[{}", self.name(), self.attribute())?;
        if !self.data.options.is_empty() {
            write!(f, "({})", self.data.options)?;
        }
        write!(f, "] fn {}", self.data.function)
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} at {}:{}", self.data.file, self.data.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn site(owner: Owner) -> Site {
        Site::new(data(owner))
    }

    pub(super) fn data(owner: Owner) -> SiteData {
        SiteData {
            package: Some("my-package"),
            module: "my_package::billing::ledger",
            file: "src/ledger.rs",
            line: 7,
            kind: HoldKind::Mutex,
            owner,
            function: "close",
            namespace: None,
            key: &[],
            options: "",
            order: None,
            reentrant: None,
            lengths: Lengths::default(),
        }
    }

    #[test]
    fn what_is_shown_leaves_out_the_place() {
        assert_eq!(
            site(Owner::SelfType).to_string(),
            "my-package:{Self}:close #[auto_mutex] fn close"
        );
        let with_options = Site::new(SiteData {
            options: "expire = 100, key = month",
            key: &["{month}"],
            ..data(Owner::Type("Ledger"))
        });
        assert_eq!(
            with_options.to_string(),
            "my-package:Ledger:close:{month} #[auto_mutex(expire = 100, key = month)] fn close"
        );
        assert_eq!(
            with_options.location(),
            "my_package::billing::ledger::close at src/ledger.rs:7"
        );
    }
}
