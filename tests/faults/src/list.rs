//! The lists of faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// A file of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Area {
    /// The tests for faults that none of those named for them find.
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
    /// The number of a guarantee in `docs/guarantees.md`, or another promise.
    pub(crate) breaks: String,
    pub(crate) file: String,
    /// A whole expression, or whole statements. It occurs once in the file.
    pub(crate) find: String,
    pub(crate) replace: String,
    /// `PROGRAM PART-OF-A-NAME…`: the tests that find it.
    pub(crate) found: Vec<String>,
}

/// A test with faults of its own, which it reports as `WHAT: run Some(…)`, or `None` if nothing finds one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) id: String,
    pub(crate) test: String,
}

impl Area {
    /// The faults of each file, whatever list they are in.
    pub(crate) fn by_file(areas: &[Self]) -> BTreeMap<&str, Vec<&Fault>> {
        let mut files = BTreeMap::<_, Vec<_>>::new();
        for fault in areas.iter().flat_map(|area| &area.fault) {
            files.entry(&*fault.file).or_default().push(fault);
        }
        files
    }
}

/// Reads the faults that have one of `names` in their id, their file, their rule or their tests, or all if there are no
/// names.
pub(crate) fn read(root: &Path, names: &[String]) -> Vec<Area> {
    let files = fs::read_dir(root.join("tests/faults")).expect("the list");
    let files = files.map(|entry| entry.expect("a file").path());
    let is_list = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|it| it == "toml") && !path.ends_with("Cargo.toml")
    };
    let mut files: Vec<_> = files.filter(is_list).collect();
    files.sort();
    let mut ids = BTreeSet::new();
    let has = |text: &str| names.is_empty() || names.iter().any(|name| text.contains(name));
    let read = |path| {
        let text = fs::read_to_string(path).expect("a list");
        let mut area: Area = toml::from_str(&text).unwrap_or_else(|it| panic!("{path:?}: {it}"));
        for Fault { id, .. } in &area.fault {
            assert!(ids.insert(id.clone()), "two faults are named {id}");
        }
        area.fault.retain(|it| {
            let mut all = [&it.id, &it.file, &it.breaks].into_iter().chain(&it.found);
            all.any(|text| has(text))
        });
        area.table.retain(|it| has(&it.id));
        area
    };
    files.iter().map(read).collect()
}
