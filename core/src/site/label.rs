//! [`SiteLabel`]: the label of a site's locks, in two forms. In metrics it is the template of the names; the lock order
//! also needs the type of `Self`. A hold has only the first, so each type has a copy of it at its own address.

use std::ptr;
use std::sync::OnceLock;

use super::{Site, list};

#[derive(Debug)]
pub(super) struct SiteLabel {
    self_type: &'static str,
    in_metrics: String,
    in_order: String,
    /// Set once the names were compared with those of other sites.
    pub(super) compared: OnceLock<()>,
    next: OnceLock<Box<Self>>,
}

impl Site {
    /// The label of the holds of a call, where `Self` has the type `self_type`. Only the first call of each type
    /// allocates.
    #[inline]
    pub(crate) fn label_of(&'static self, self_type: &'static str) -> &'static str {
        &self.site_label(self_type).in_metrics
    }

    #[inline]
    pub(super) fn site_label(&'static self, self_type: &'static str) -> &'static SiteLabel {
        let self_type = if self.is_fixed() { "" } else { self_type };
        let mut slot = &self.labels;
        loop {
            let label = slot.get_or_init(|| {
                Box::new(SiteLabel {
                    self_type,
                    in_metrics: self.name(),
                    in_order: self.template(Some(self_type)),
                    compared: OnceLock::new(),
                    next: OnceLock::new(),
                })
            });
            if label.self_type == self_type {
                return label;
            }
            slot = &label.next;
        }
    }

    fn labels(&self) -> impl Iterator<Item = &SiteLabel> {
        let all = std::iter::successors(self.labels.get(), |label| label.next.get());
        all.map(|label| &**label)
    }

    /// The site whose holds have the label `label`, and that label in the lock order. Searches all sites.
    pub(crate) fn labelled(label: &'static str) -> Option<(&'static Self, &'static str)> {
        list::all().find_map(|site| {
            let known = site
                .labels()
                .find(|known| ptr::eq(&*known.in_metrics, label))?;
            Some((site, &*known.in_order))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Owner, tests::site};
    use super::*;

    #[test]
    fn each_type_has_a_label_of_its_own() {
        let site: &'static Site = Box::leak(Box::new(site(Owner::SelfType)));
        let labels = ["a::Ledger", "b::Book<u8>", "a::Ledger"].map(|ty| site.label_of(ty));
        assert_eq!(labels, ["my-package:{Self}:close"; 3]);
        assert!(ptr::eq(labels[0], labels[2]), "made once");
        assert!(!ptr::eq(labels[0], labels[1]));
        let in_order: Vec<_> = site.labels().map(|label| &*label.in_order).collect();
        assert_eq!(
            in_order,
            ["my-package:Ledger:close", "my-package:Book:close"]
        );
    }
}
