//! [`Class`]: the class of a site's locks in the lock order. It is the template of the names, with the type of `Self`. The
//! label of the metrics is the template without the type. A hold has only the label, so each class has a copy of the label
//! at an address of its own.

use std::ptr;
use std::sync::OnceLock;

use super::{Site, list};

#[derive(Debug)]
pub(super) struct Class {
    self_type: &'static str,
    label: String,
    name: String,
    /// Set once the names of the class were compared with those of other sites.
    pub(super) compared: OnceLock<()>,
    next: OnceLock<Box<Self>>,
}

impl Site {
    /// The label of the holds of a call, where `Self` has the type `self_type`. Only the first call of each type allocates.
    #[inline]
    pub(crate) fn label_of(&'static self, self_type: &'static str) -> &'static str {
        &self.class_of(self_type).label
    }

    #[inline]
    pub(super) fn class_of(&'static self, self_type: &'static str) -> &'static Class {
        let self_type = if self.is_fixed() { "" } else { self_type };
        let mut place = &self.classes;
        loop {
            let class = place.get_or_init(|| {
                Box::new(Class {
                    self_type,
                    label: self.name(),
                    name: self.template(Some(self_type)),
                    compared: OnceLock::new(),
                    next: OnceLock::new(),
                })
            });
            if class.self_type == self_type {
                return class;
            }
            place = &class.next;
        }
    }

    fn classes(&self) -> impl Iterator<Item = &Class> {
        let all = std::iter::successors(self.classes.get(), |class| class.next.get());
        all.map(|class| &**class)
    }

    /// The site whose holds have the label `label`, and their class. Searches all sites.
    pub(crate) fn labelled(label: &'static str) -> Option<(&'static Self, &'static str)> {
        list::all().find_map(|site| {
            let class = site.classes().find(|class| ptr::eq(&*class.label, label))?;
            Some((site, &*class.name))
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
        let classes: Vec<_> = site.classes().map(|class| &*class.name).collect();
        assert_eq!(
            classes,
            ["my-package:Ledger:close", "my-package:Book:close"]
        );
    }
}
