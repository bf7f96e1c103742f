//! [`Class`]: the class of a site's locks in the lock order.
//!
//! The class is the template of the names, with the type of `Self`. The label of the metrics is the template without the
//! type. A hold has only the label, so each class has a copy of the label at an address of its own.

use std::ptr;
use std::sync::OnceLock;

use super::{Site, list, type_name};

/// The class of the locks of one type.
#[derive(Debug)]
pub(super) struct Class {
    self_type: &'static str,
    label: String,
    name: String,
    next: Classes,
}

/// The classes of a site, in the order of their first calls.
#[derive(Debug)]
pub(super) struct Classes(OnceLock<Box<Class>>);

impl Classes {
    #[allow(
        clippy::declare_interior_mutable_const,
        reason = "each site gets its own"
    )]
    pub(super) const NEW: Self = Self(OnceLock::new());

    fn iter(&self) -> impl Iterator<Item = &Class> {
        let first = self.0.get();
        let all = std::iter::successors(first, |class| class.next.0.get());
        all.map(|class| &**class)
    }
}

impl Site {
    /// The label of the holds of a call, where `Self` has the type `self_type`. Only the first call of each type allocates.
    #[inline]
    pub(crate) fn label_of(&'static self, self_type: &'static str) -> &'static str {
        match self.is_fixed() {
            true => self.label(),
            false => &self.class_of(self_type).label,
        }
    }

    fn class_of(&'static self, self_type: &'static str) -> &'static Class {
        let mut place = &self.state.classes;
        loop {
            let class = place.0.get_or_init(|| {
                Box::new(Class {
                    self_type,
                    label: self.name(),
                    name: self.template(|name| name.part(&type_name::bare(self_type))),
                    next: Classes::NEW,
                })
            });
            if class.self_type == self_type {
                return class;
            }
            place = &class.next;
        }
    }

    /// The site whose holds have the label `label`, and their class. Searches all sites.
    pub(crate) fn labelled(label: &'static str) -> Option<(&'static Self, &'static str)> {
        let is_same = |known: &str| ptr::eq(known, label);
        list::all().find_map(|site| {
            let fixed = site.state.label.get().filter(|known| is_same(known));
            let mut classes = site.state.classes.iter();
            let class = || Some(&*classes.find(|class| is_same(&class.label))?.name);
            Some((site, fixed.map(String::as_str).or_else(class)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Owner, tests::site};
    use super::*;

    #[test]
    fn each_type_has_a_class_with_a_label_of_its_own() {
        let site: &'static Site = Box::leak(Box::new(site(Owner::SelfType)));
        let labels = ["a::Ledger", "b::Book<u8>", "a::Ledger"].map(|ty| site.label_of(ty));
        assert_eq!(labels, ["my-package:{Self}:close"; 3]);
        assert!(ptr::eq(labels[0], labels[2]), "made once");
        assert!(!ptr::eq(labels[0], labels[1]));
        let classes: Vec<_> = site
            .state
            .classes
            .iter()
            .map(|class| &*class.name)
            .collect();
        assert_eq!(
            classes,
            ["my-package:Ledger:close", "my-package:Book:close"]
        );
    }
}
