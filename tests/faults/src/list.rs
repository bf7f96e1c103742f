//! The lists of faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// A file of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Area {
    /// Tests for faults that none of the tests named for them find.
    #[serde(default)]
    pub(crate) then: Vec<String>,
    /// Whether the faults take effect while a program is compiled.
    #[serde(default)]
    pub(crate) compiled: bool,
    #[serde(default)]
    pub(crate) fault: Vec<Fault>,
    #[serde(default)]
    pub(crate) table: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fault {
    pub(crate) id: String,
    /// A guarantee of `docs/guarantees.md` by its number, or another promise.
    pub(crate) breaks: String,
    pub(crate) file: String,
    /// A whole expression, or whole statements. It occurs once in the file.
    pub(crate) find: String,
    pub(crate) replace: String,
    /// `PROGRAM PART-OF-A-NAME…`: the tests that find it.
    pub(crate) found: Vec<String>,
}

/// A test that has faults of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) id: String,
    pub(crate) test: String,
}

impl Area {
    pub(crate) fn by_file(&self) -> BTreeMap<&str, Vec<&Fault>> {
        let mut files = BTreeMap::<_, Vec<_>>::new();
        for fault in &self.fault {
            files.entry(fault.file.as_str()).or_default().push(fault);
        }
        files
    }
}

/// Reads the faults that have one of `names` in their id, their file or their rule; all without names.
pub(crate) fn read(root: &Path, names: &[String]) -> Vec<Area> {
    let folder = root.join("tests/faults");
    let files = fs::read_dir(folder)
        .expect("the list")
        .map(|entry| entry.expect("a file").path());
    let mut files: Vec<_> = files
        .filter(|path| {
            path.extension().is_some_and(|it| it == "toml") && !path.ends_with("Cargo.toml")
        })
        .collect();
    files.sort();
    let mut ids = BTreeSet::new();
    let read = |path| {
        let text = fs::read_to_string(path).expect("a list");
        let mut area: Area =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        for fault in &area.fault {
            assert!(
                ids.insert(fault.id.clone()),
                "two faults are named {}",
                fault.id
            );
        }
        let has = |text: &str| names.is_empty() || names.iter().any(|name| text.contains(name));
        area.fault
            .retain(|it| has(&it.id) || has(&it.file) || has(&it.breaks));
        area.table.retain(|it| has(&it.id));
        area
    };
    files.iter().map(read).collect()
}
