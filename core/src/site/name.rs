//! The names of a site's locks.

use super::{Owner, Site, duplicates, type_name};
use crate::base::name::NameBuilder;

impl Site {
    /// Like [`scope`](Self::scope), but for a call: warns if another site derives the same name from the type of
    /// `Self`.
    pub(crate) fn called(
        &'static self,
        client: Option<&str>,
        self_type: &'static str,
    ) -> NameBuilder {
        let scope = self.scope(client, Some(self_type));
        if let Owner::SelfType = self.data.owner {
            duplicates::note_type(self, self_type, &scope);
        }
        scope
    }

    pub(crate) fn namespace_for<'a>(&self, client: Option<&'a str>) -> Option<&'a str> {
        self.data.namespace.or(client)
    }

    pub(crate) fn keyed(&self, scope: NameBuilder, key: &[String]) -> NameBuilder {
        self.before_key(scope, key.len()).parts(key)
    }

    /// The name of this site's locks as a template: `package:Type:function`, or the value of the option `name`. The
    /// value of the option `ns` comes first. Without that option, the client's namespace, if any, is added at run time.
    /// `{Self}` stands for the type if only the method is annotated. Other braces stand for values that vary from call
    /// to call. For `keys`, the last part is a list in brackets.
    ///
    /// Example: `billing:Ledger:close:{month}` in the package `billing`.
    #[must_use]
    pub fn name(&self) -> String {
        self.template(None)
    }

    pub(super) fn template(&self, self_type: Option<&str>) -> String {
        let scope = self.scope(None, self_type);
        let mut template = self.before_key(scope, self.data.key.len());
        for part in self.data.key {
            template.placeholder(part);
        }
        template.into_text()
    }

    /// The name without a key. `self_type` is used only with [`Owner::SelfType`]; `None` stands for any type.
    pub(super) fn scope(&self, client: Option<&str>, self_type: Option<&str>) -> NameBuilder {
        let namespace = self.namespace_for(client);
        if let Owner::Named(text) = self.data.owner {
            return NameBuilder::verbatim_in(namespace, text);
        }
        let mut package = self.package().split(':');
        let first = namespace.or_else(|| package.next());
        let mut name = NameBuilder::new(first.unwrap_or_default());
        package.for_each(|part| name.part(part));
        match self.data.owner {
            Owner::Module => name.part(&self.module_below()),
            Owner::Type(ty) => name.part(ty),
            Owner::SelfType => match self_type {
                Some(self_type) => name.part(&type_name::bare(self_type)),
                None => name.placeholder("{Self}"),
            },
            Owner::Named(_) => {}
        }
        if !self.is_per_type() {
            name.part(self.data.function);
        }
        name
    }

    /// If the functions of a type share a lock, the name has an empty part between type and key, so that the key can't
    /// look like a function.
    fn before_key(&self, mut scope: NameBuilder, parts: usize) -> NameBuilder {
        let has_function = matches!(self.data.owner, Owner::Named(_)) || !self.is_per_type();
        if parts > 0 && !has_function {
            scope.part("");
        }
        scope
    }

    /// The module path without the crate and without `r#`, such as `billing.ledger`; `crate` for the root module.
    fn module_below(&self) -> String {
        match self.data.module.split_once("::") {
            Some((_, below)) => below.replace("r#", "").replace("::", "."),
            None => "crate".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{data, site};
    use super::super::{HoldKind, SiteData};
    use super::*;

    fn name(site: &Site, client: Option<&str>) -> String {
        site.scope(client, Some("other::Book<'_, other::Page>"))
            .finish()
            .unwrap()
            .to_string()
    }

    #[test]
    fn programs_of_a_package_share_no_derived_name() {
        let of = |owner| SiteData {
            package: Some("shop:worker"),
            module: "worker",
            ..data(owner)
        };
        let run = Site::new(of(Owner::Module));
        assert_eq!(name(&run, None), "shop:worker:crate:close");
        assert_eq!(name(&run, Some("prod")), "prod:shop:worker:crate:close");
        assert_eq!(run.name(), "shop:worker:crate:close");
        let method = Site::new(of(Owner::Type("Ledger")));
        assert_eq!(name(&method, None), "shop:worker:Ledger:close");
        assert_eq!(name(&Site::new(of(Owner::Named("a"))), None), "a");
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
        assert_eq!(name(&site(Owner::Named("a:b c")), None), "a:b%20c");
        let root = Site::new(SiteData {
            module: "my_package",
            ..data(Owner::Module)
        });
        assert_eq!(name(&root, None), "my-package:crate:close");
        // As `cargo fix` writes it for a newer edition.
        let raw = Site::new(SiteData {
            module: "my_package::r#gen::r#type",
            ..data(Owner::Module)
        });
        assert_eq!(name(&raw, None), "my-package:gen.type:close");
    }

    #[test]
    fn readers_and_writers_of_a_type_share_a_name() {
        for kind in [HoldKind::Reader, HoldKind::Writer] {
            let site = |owner| {
                Site::new(SiteData {
                    kind,
                    key: &["{n}"],
                    ..data(owner)
                })
            };
            let ledger = site(Owner::Type("Ledger"));
            assert_eq!(name(&ledger, None), "my-package:Ledger");
            assert_eq!(name(&site(Owner::SelfType), None), "my-package:Book");
            assert_eq!(
                name(&site(Owner::Module), None),
                "my-package:billing.ledger"
            );
            // A mutex of the function `close` has a different name: `my-package:Ledger:close`.
            let keyed = ledger.keyed(ledger.scope(None, None), &["close".to_owned()]);
            assert_eq!(keyed.into_text(), "my-package:Ledger::close");
            assert_eq!(ledger.name(), "my-package:Ledger::{n}");
            assert_eq!(site(Owner::Named("x")).name(), "x:{n}");
        }
    }

    #[test]
    fn the_nearest_namespace_stands_before_the_package() {
        let plain = site(Owner::Type("T"));
        assert_eq!(name(&plain, Some("prod")), "prod:my-package:T:close");
        let own = Site::new(SiteData {
            namespace: Some("own"),
            ..data(Owner::Type("T"))
        });
        assert_eq!(name(&own, Some("prod")), "own:my-package:T:close");
        assert_eq!(own.name(), "own:my-package:T:close");
        let script = Site::new(SiteData {
            package: None,
            ..data(Owner::Type("T"))
        });
        assert_eq!(name(&script, None), "my_package:T:close");
        assert_eq!(name(&script, Some("prod")), "prod:my_package:T:close");
    }

    #[test]
    fn a_name_of_the_user_leaves_the_package_out() {
        let named = site(Owner::Named("a:b"));
        assert_eq!(name(&named, Some("prod")), "prod:a:b");
        let own = Site::new(SiteData {
            namespace: Some("my ns"),
            ..data(Owner::Named("a:b"))
        });
        assert_eq!(name(&own, Some("prod")), "my%20ns:a:b");
        assert_eq!(own.name(), "my%20ns:a:b");
    }

    #[test]
    fn a_template_shows_what_varies_in_braces() {
        let keyed = Site::new(SiteData {
            key: &["{self.id}", "%7Bfixed%7D", "{month}-th"],
            ..data(Owner::SelfType)
        });
        assert_eq!(
            keyed.name(),
            "my-package:{Self}:close:{self.id}:%7Bfixed%7D:{month}-th"
        );
        let named = Site::new(SiteData {
            key: &["{n}"],
            ..data(Owner::Named("a:b"))
        });
        assert_eq!(named.name(), "a:b:{n}");
    }
}
