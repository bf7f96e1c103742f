//! [`Site`]: the static description of an annotated function, and the beginning of the names it makes.

use std::sync::{Arc, OnceLock};

use super::type_name;
use crate::name::NameBuilder;

/// An annotated function, as far as it is known when it is compiled.
#[derive(Debug)]
pub struct Site {
    /// The annotated crate's package.
    pub package: Option<&'static str>,
    /// The module, with the crate first.
    pub module: &'static str,
    /// Where it stands.
    pub file: &'static str,
    /// Where it stands.
    pub line: u32,
    /// What the function's name is told apart by.
    pub owner: Owner,
    /// The function's name.
    pub function: &'static str,
    /// `ns = "…"`
    pub namespace: Option<&'static str>,
    /// What the store is told, for people to read. Shared by all calls.
    pub shown: Shown,
}

/// Made at the first call.
#[derive(Debug)]
pub struct Shown(OnceLock<Arc<str>>);

impl Shown {
    /// Not made yet.
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "each static gets one of its own"
    )]
    pub const NEW: Self = Self(OnceLock::new());
}

/// What stands before a function's name.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// The module below the crate: a free function.
    Module,
    /// The type, as a block's header spells it.
    Type(&'static str),
    /// The type `Self`, which only the compiler knows.
    SelfType,
    /// Nothing, and not the function's name either: `name = "…"` is the user's own text.
    Named(&'static str),
}

impl Site {
    /// Who holds or waits, for others to read.
    pub(super) fn shown(&self) -> Arc<str> {
        let describe = || {
            let Self {
                module,
                function,
                file,
                line,
                ..
            } = self;
            format!("{module}::{function} at {file}:{line}").into()
        };
        self.shown.0.get_or_init(describe).clone()
    }

    /// The name of this site's locks without a key. `self_type` is the full name of `Self` where
    /// [`Owner::SelfType`] asks for it.
    pub(super) fn name(&self, client: Option<&str>, self_type: &str) -> NameBuilder {
        let namespace = self
            .namespace
            .or(client)
            .or(self.package)
            .unwrap_or_else(|| self.krate());
        let mut name = NameBuilder::new(namespace);
        match self.owner {
            Owner::Module => name.part(&self.module_below()),
            Owner::Type(ty) => name.part(ty),
            Owner::SelfType => name.part(&type_name::bare(self_type)),
            Owner::Named(text) => {
                name.verbatim(text);
                return name;
            }
        }
        name.part(self.function);
        name
    }

    fn krate(&self) -> &'static str {
        self.module.split("::").next().unwrap_or_default()
    }

    /// `billing.ledger`, or `crate` at the root.
    fn module_below(&self) -> String {
        match self.module.split_once("::") {
            Some((_, below)) => below.replace("::", "."),
            None => "crate".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(owner: Owner) -> Site {
        Site {
            package: Some("my-package"),
            module: "my_package::billing::ledger",
            file: "src/ledger.rs",
            line: 7,
            owner,
            function: "close",
            namespace: None,
            shown: Shown::NEW,
        }
    }

    fn name(site: &Site, client: Option<&str>) -> String {
        site.name(client, "other::Book<'_, other::Page>")
            .finish()
            .unwrap()
            .to_string()
    }

    #[test]
    fn the_scope_stands_before_the_function() {
        assert_eq!(
            name(&site(Owner::Module), None),
            "my-package:billing.ledger:close"
        );
        assert_eq!(
            name(&site(Owner::Type("Ledger")), None),
            "my-package:Ledger:close"
        );
        assert_eq!(name(&site(Owner::SelfType), None), "my-package:Book:close");
        assert_eq!(
            name(&site(Owner::Named("a:b c")), None),
            "my-package:a:b%20c"
        );
        let root = Site {
            module: "my_package",
            ..site(Owner::Module)
        };
        assert_eq!(name(&root, None), "my-package:crate:close");
    }

    #[test]
    fn the_nearest_namespace_counts() {
        let plain = site(Owner::Type("T"));
        assert_eq!(name(&plain, Some("prod")), "prod:T:close");
        let own = Site {
            namespace: Some("own"),
            ..site(Owner::Type("T"))
        };
        assert_eq!(name(&own, Some("prod")), "own:T:close");
        let script = Site {
            package: None,
            ..site(Owner::Type("T"))
        };
        assert_eq!(name(&script, None), "my_package:T:close");
    }
}
