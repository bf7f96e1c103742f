//! The names of a site's locks, and their template.

use super::{Owner, Site, duplicates, type_name};
use crate::name::NameBuilder;

impl Site {
    /// As [`scope`](Self::scope), for a call: says so if another site makes the same name.
    pub(crate) fn called(
        &'static self,
        client: Option<&str>,
        self_type: &'static str,
    ) -> NameBuilder {
        let scope = self.scope(client, self_type);
        if let Owner::SelfType = self.owner {
            duplicates::note_type(self, self_type, &scope);
        }
        scope
    }

    /// The name of this site's locks without a key. `self_type` is the full name of `Self` where
    /// [`Owner::SelfType`] asks for it.
    pub(super) fn scope(&self, client: Option<&str>, self_type: &str) -> NameBuilder {
        self.scope_of(client, |name| name.part(&type_name::bare(self_type)))
    }

    pub(super) fn template(&self) -> String {
        let mut template = self.scope_of(None, |name| name.placeholder("{Self}"));
        for part in self.key {
            template.placeholder(part);
        }
        template.into_text()
    }

    fn scope_of(
        &self,
        client: Option<&str>,
        add_self: impl FnOnce(&mut NameBuilder),
    ) -> NameBuilder {
        let krate = || self.module.split("::").next().unwrap_or_default();
        let namespace = self.namespace.or(client).or(self.package);
        let mut name = NameBuilder::new(namespace.unwrap_or_else(krate));
        match self.owner {
            Owner::Module => name.part(&self.module_below()),
            Owner::Type(ty) => name.part(ty),
            Owner::SelfType => add_self(&mut name),
            Owner::Named(text) => {
                name.verbatim(text);
                return name;
            }
        }
        name.part(self.function);
        name
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
    use super::super::tests::site;
    use super::*;

    fn name(site: &Site, client: Option<&str>) -> String {
        site.scope(client, "other::Book<'_, other::Page>")
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

    #[test]
    fn a_template_shows_what_varies_in_braces() {
        let keyed = Site {
            key: &["{self.id}", "%7Bfixed%7D", "{month}-th"],
            ..site(Owner::SelfType)
        };
        assert_eq!(
            keyed.template(),
            "my-package:{Self}:close:{self.id}:%7Bfixed%7D:{month}-th"
        );
        let named = Site {
            key: &["{n}"],
            ..site(Owner::Named("a:b"))
        };
        assert_eq!(named.template(), "my-package:a:b:{n}");
    }
}
