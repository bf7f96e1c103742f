//! The folders of each crate are layered in floors: a folder uses only those below it, so that each can be understood
//! without those above.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The most floors of one crate.
const MOST: usize = 8;

const CRATES: [&str; 10] = [
    "core",
    "stores/net",
    "stores/seam",
    "stores/redis",
    "stores/postgres",
    "stores/quorum",
    "operator",
    "fence",
    "cli",
    "macros",
];

/// What each folder or file of a crate uses, with a file that does so as an example.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn no_folders_of_a_crate_use_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in CRATES {
        let uses = uses(&root.join(name).join("src"));
        assert!(name != "core" || uses.len() > 5, "{uses:?}");
        let mut floors = BTreeMap::new();
        for folder in uses.keys() {
            let floor = floor(folder, &uses, &mut Vec::new(), &mut floors);
            assert!(floor <= MOST, "{name}: `{folder}` is on floor {floor}");
        }
    }
}

/// The floor of a folder: one above everything that it uses. Panics if it uses itself through `above`.
fn floor(
    folder: &str,
    uses: &Uses,
    above: &mut Vec<String>,
    floors: &mut BTreeMap<String, usize>,
) -> usize {
    if let Some(floor) = floors.get(folder) {
        return *floor;
    }
    let begin = above.iter().position(|it| it == folder);
    above.push(folder.to_owned());
    if let Some(begin) = begin {
        let example = |pair: &[String]| format!("{} uses `{}`", uses[&pair[0]][&pair[1]], pair[1]);
        let cycle: Vec<_> = above[begin..].windows(2).map(example).collect();
        panic!("a cycle: {}", cycle.join(", "));
    }
    let below = uses.get(folder).into_iter().flat_map(BTreeMap::keys);
    let below = below.map(|used| floor(used, uses, above, floors)).max();
    above.pop();
    let floor = below.unwrap_or(0) + 1;
    floors.insert(folder.to_owned(), floor);
    floor
}

fn uses(src: &Path) -> Uses {
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name));
    let root = root.iter().find(|path| path.exists()).unwrap();
    let mut files = Vec::new();
    find(src, &mut files);
    let modules: Vec<Vec<String>> = files.iter().map(|file| module(src, file)).collect();
    // A file beside the root belongs to no folder.
    let folders = modules.iter().filter_map(|module| module.first());
    let folders = folders.filter(|folder| src.join(folder).is_dir());
    let mut uses: Uses = folders.map(|it| (it.clone(), BTreeMap::new())).collect();
    // What the root re-exports to the folders comes from one of them.
    let exported: BTreeMap<String, String> = paths(&code(root), &[])
        .into_iter()
        .filter(|path| path.len() > 1 && uses.contains_key(&path[0]))
        .map(|path| (path.last().unwrap().clone(), path[0].clone()))
        .collect();
    for (file, module) in files.iter().zip(&modules) {
        let Some(own) = module.first() else { continue };
        for path in paths(&code(file), module) {
            let used = exported.get(&path[0]).unwrap_or(&path[0]);
            if used != own && uses.contains_key(own) && uses.contains_key(used) {
                let example = file.strip_prefix(src).unwrap().display().to_string();
                uses.get_mut(own).unwrap().insert(used.clone(), example);
            }
        }
    }
    uses
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let for_tests = ["tests", "testing", "simulation", "interleavings", "fuzzing"];
        if for_tests.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The path of the module in this file; empty for the root.
fn module(src: &Path, file: &Path) -> Vec<String> {
    let path = file.strip_prefix(src).unwrap().with_extension("");
    let mut module: Vec<_> = path
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if module
        .last()
        .is_some_and(|last| ["mod", "lib", "main"].contains(&&**last))
    {
        module.pop();
    }
    module
}

/// The code of a file without comments and its own tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = text.lines().map(|line| line.split("//").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths into the crate that `code`, of this module, uses: from the root on.
fn paths(code: &str, module: &[String]) -> BTreeSet<Vec<String>> {
    let mut found = BTreeSet::new();
    let starts = ["crate::", "super::", "self::"];
    for start in starts {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let (mut rest, mut above) = (&code[at..], module.to_vec());
            loop {
                if let Some(after) = rest.strip_prefix("crate::") {
                    (rest, above) = (after, Vec::new());
                } else if let Some(after) = rest.strip_prefix("super::") {
                    above.pop();
                    rest = after;
                } else if let Some(after) = rest.strip_prefix("self::") {
                    rest = after;
                } else {
                    break;
                }
            }
            tree(rest, above, &mut found);
        }
    }
    found
}

/// Adds the paths of the `use` tree that `text` begins with; returns the text after it.
fn tree<'a>(text: &'a str, mut above: Vec<String>, found: &mut BTreeSet<Vec<String>>) -> &'a str {
    let mut text = text.trim_start();
    loop {
        if let Some(mut rest) = text.strip_prefix('{') {
            loop {
                rest = rest.trim_start();
                if let Some(after) = rest.strip_prefix('}') {
                    return after;
                }
                let after = tree(rest, above.clone(), found).trim_start();
                // Anything else is not a `use` tree.
                let Some(next) = after
                    .strip_prefix(',')
                    .or(after.starts_with('}').then_some(after))
                else {
                    return after;
                };
                rest = next;
            }
        }
        let end = text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        if !word.is_empty() && word != "self" {
            above.push(word.to_owned());
        }
        match rest.strip_prefix("::") {
            Some(rest) if !word.is_empty() => text = rest,
            _ => {
                if !above.is_empty() {
                    found.insert(above);
                }
                let renamed = rest.trim_start().strip_prefix("as ");
                return renamed.map_or(rest, |name| {
                    name.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                });
            }
        }
    }
}
