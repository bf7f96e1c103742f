//! Warns about sites that have the same name by accident and thus exclude each other: their types have the same bare
//! name, or they are functions of the same name in several impls of one type. Names that depend on the type of `Self`
//! are compared at the first call with that type, all others when a client is made.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ptr;

use super::{Owner, Site, list};
use crate::base::clock::Instant;
use crate::base::name::{Name, NameBuilder};
use crate::base::process::PerProcess;
use crate::base::sync::Mutex;
use crate::base::target::ACQUIRE;
use crate::base::wait::{Limit, lock};
use crate::store::meta;

static KNOWN: PerProcess<Mutex<Known>> = PerProcess::new(Mutex::default);

#[derive(Default)]
struct Known {
    by_name: HashMap<String, Vec<&'static Site>>,
    namespaces: HashSet<Option<String>>,
    /// Not reported again for another client with another namespace.
    reported: HashSet<usize>,
}

fn address(site: &'static Site) -> usize {
    ptr::from_ref(site).addr()
}

type Duplicates = (String, Vec<&'static Site>);

pub(crate) fn find_duplicates(namespace: Option<&str>) {
    let found = lock(KNOWN.get()).find(list::all(), namespace);
    found.iter().for_each(warn);
}

pub(super) fn note_type(site: &'static Site, self_type: &'static str, scope: &NameBuilder) {
    if site.site_label(self_type).compared.set(()).is_ok() {
        let found = lock(KNOWN.get()).add(site, scope);
        found.iter().for_each(warn);
    }
}

/// A call that `ours` describes waits for a lock that `theirs` holds. Warns once if the name is derived from the code,
/// and the code is another: two programs have the same name by accident.
pub(crate) fn note_holder(name: &Name, ours: &str, theirs: &str, now: Instant) {
    static TOLD: Limit = Limit::once();
    let function = |meta| {
        meta::caller(meta).and_then(|it| Some((it.site.rsplit_once(':')?.0.to_owned(), it.site)))
    };
    let (Some((here, ours)), Some((there, theirs))) = (function(ours), function(theirs)) else {
        return;
    };
    // A handle names a lock, and no function.
    let is_other = here != there && there.contains("::");
    let is_derived = |site: &'static Site| {
        let is_named = matches!(site.data.owner, Owner::Named(_)) || site.is_per_type();
        !is_named && site.location() == ours
    };
    if is_other && list::all().any(is_derived) && TOLD.pass(now).is_some() {
        tracing::warn!(target: ACQUIRE, %name, here = ours, there = theirs, "another function holds the lock of this one, whose name is derived from its path; unless it is another version of this function, give one of them a `name`");
    }
}

impl Known {
    fn find(
        &mut self,
        sites: impl Iterator<Item = &'static Site>,
        namespace: Option<&str>,
    ) -> Vec<Duplicates> {
        if !self.namespaces.insert(namespace.map(str::to_owned)) {
            return Vec::new();
        }
        let known = sites.filter(|site| matches!(site.data.owner, Owner::Module | Owner::Type(_)));
        // The last entry for each name has all of its sites.
        let found: BTreeMap<_, _> = known
            .filter_map(|site| self.add(site, &site.scope(namespace, None)))
            .collect();
        found.into_iter().collect()
    }

    /// Adds `site` to the sites with its name. If `site` is a new duplicate, returns all of them.
    fn add(&mut self, site: &'static Site, scope: &NameBuilder) -> Option<Duplicates> {
        let name = with_key(scope, site.data.key);
        let sites = self.by_name.entry(name.clone()).or_default();
        if sites.iter().any(|known| ptr::eq(*known, site)) {
            return None;
        }
        sites.push(site);
        let news = sites.len() > 1
            && !sites.iter().all(|site| site.is_per_type())
            && self.reported.insert(address(site));
        news.then(|| (name, sites.clone()))
    }
}

/// Variable parts of keys count as equal, because their values may be.
fn with_key(scope: &NameBuilder, key: &[&str]) -> String {
    let mut name = scope.clone();
    for part in key {
        name.placeholder(if part.contains('{') { "{}" } else { part });
    }
    name.into_text()
}

fn warn((name, sites): &Duplicates) {
    let locations: Vec<String> = sites.iter().map(|site| site.location()).collect();
    tracing::warn!(
        target: ACQUIRE,
        name = %name,
        functions = %locations.join(", "),
        "annotated functions derive the same name, so they exclude each other: give one of them another name, \
         or, if that is intended, both the same: `name = \"…\"`"
    );
}

#[cfg(test)]
mod tests {
    use super::super::SiteData;
    use super::super::tests::{data, site};
    use super::*;

    fn leaked(site: Site) -> &'static Site {
        Box::leak(Box::new(site))
    }

    fn found(known: &mut Known, sites: &[&'static Site], namespace: Option<&str>) -> Vec<String> {
        let found = known.find(sites.iter().copied(), namespace);
        found
            .iter()
            .map(|(name, sites)| format!("{name} {}", sites.len()))
            .collect()
    }

    #[test]
    fn sites_of_one_derived_name_are_found_once() {
        let sites = [
            leaked(site(Owner::Type("Ledger"))),
            leaked(site(Owner::Type("Ledger"))),
            leaked(site(Owner::Type("Book"))),
            leaked(site(Owner::Type("Ledger"))),
            leaked(site(Owner::Named("x"))),
            leaked(site(Owner::Named("x"))),
            leaked(site(Owner::SelfType)),
            leaked(site(Owner::SelfType)),
        ];
        let mut known = Known::default();
        assert_eq!(
            found(&mut known, &sites, None),
            ["my-package:Ledger:close 3"]
        );
        assert!(found(&mut known, &sites, None).is_empty());
        assert!(found(&mut known, &sites, Some("prod")).is_empty());
    }

    #[test]
    fn packages_never_meet_in_a_namespace() {
        let other = Site::new(SiteData {
            package: Some("other"),
            ..data(Owner::Type("Ledger"))
        });
        let sites = [leaked(site(Owner::Type("Ledger"))), leaked(other)];
        for namespace in [None, Some("prod")] {
            assert!(found(&mut Known::default(), &sites, namespace).is_empty());
        }
    }

    #[test]
    fn keys_that_never_meet_keep_names_apart() {
        let keyed = |key: &'static [&'static str]| {
            leaked(Site::new(SiteData {
                key,
                ..data(Owner::Module)
            }))
        };
        let apart = [
            keyed(&[]),
            keyed(&["a"]),
            keyed(&["b"]),
            keyed(&["{n}"]),
            keyed(&["{n}", "{m}"]),
        ];
        assert!(found(&mut Known::default(), &apart, None).is_empty());
        let meet = [keyed(&["{n}"]), keyed(&["{self.id}"])];
        assert_eq!(
            found(&mut Known::default(), &meet, None),
            ["my-package:billing.ledger:close:{} 2"]
        );
    }

    #[test]
    fn a_type_is_compared_when_it_is_known() {
        let (first, second) = (leaked(site(Owner::SelfType)), leaked(site(Owner::SelfType)));
        let mut known = Known::default();
        let mut add = |site: &'static Site, self_type: &'static str| {
            known
                .add(site, &site.scope(None, Some(self_type)))
                .is_some()
        };
        assert!(!add(first, "a::Ledger"));
        assert!(!add(first, "b::Ledger"));
        assert!(!add(second, "a::Book"));
        assert!(add(second, "b::Ledger"));
        assert!(!add(second, "b::Ledger"));
    }
}
