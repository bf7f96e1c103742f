//! The copy of the repository that has all faults, each behind a switch.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::list::{Area, Fault};

const ALLOW: &str = "#![allow(warnings)] ";
const SWITCH: &str = "
pub(crate) fn __fault(id: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<std::string::String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var(\"AUTO_MUTEX_FAULT\").ok()).as_deref() == Some(id)
}
";
/// For a crate that has only `core`; its tests have the library.
const STD: &str = "
#[cfg(not(test))]
extern crate std;
";
/// Makes cargo compile a program again for another fault.
const USES: &str = "
const _: ::core::option::Option<&str> = ::core::option_env!(\"AUTO_MUTEX_FAULT\");
";

/// Brings the copy up to date. A file without a change keeps its time, so that cargo builds little again.
pub(crate) fn make(root: &Path, areas: &[Area]) -> PathBuf {
    let tree = root.join("target/faults/tree");
    let mut git = Command::new("git");
    git.args(["ls-files", "-co", "--exclude-standard", "-z"]);
    let listed = git.current_dir(root).output().expect("git").stdout;
    let listed = String::from_utf8(listed).expect("names of files");
    let changed = Area::by_file(areas);
    let crates: BTreeSet<_> = changed.keys().map(|file| crate_of(file)).collect();
    let mut files = BTreeSet::new();
    for file in listed.split_terminator('\0') {
        let (from, to) = (root.join(file), tree.join(file));
        if !from.is_file() {
            continue;
        }
        let mut text = match changed.get(file) {
            Some(faults) => switched(&from, faults).into_bytes(),
            None => fs::read(&from).expect(file),
        };
        if crates.contains(file) {
            text.splice(..0, ALLOW.bytes());
            if file.starts_with("protocol/") {
                text.extend(STD.bytes());
            }
            text.extend(SWITCH.bytes());
        }
        let is_program = match file.strip_prefix("tests/tests/") {
            Some(rest) => !rest.contains('/') || rest.ends_with("/main.rs"),
            None => false,
        };
        if is_program {
            text.extend(USES.bytes());
        }
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::create_dir_all(to.parent().expect("a folder")).expect(file);
            fs::write(&to, text).expect(file);
            let rights = from.metadata().expect(file).permissions();
            fs::set_permissions(&to, rights).expect(file);
        }
        files.insert(to);
    }
    remove_others(&tree, &files);
    tree
}

fn crate_of(file: &str) -> String {
    let (package, _) = file.split_once("/src/").expect("a file of a package");
    let main = if package == "cli" {
        "main.rs"
    } else {
        "lib.rs"
    };
    format!("{package}/src/{main}")
}

/// The text of a file with its faults behind switches. Panics if it lacks the text of a fault.
pub(crate) fn switched(path: &Path, faults: &[&Fault]) -> String {
    let mut text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    for fault in faults {
        let (id, find, replace) = (&fault.id, fault.find.trim(), fault.replace.trim());
        let times = text.matches(find).count();
        assert!(times == 1, "{id}: {times} times in {path:?}:\n{find}");
        let chosen = format!("if crate::__fault({id:?}) {{ {replace} }} else {{ {find} }}");
        let is_statement = find.ends_with([';', '}']);
        text = match is_statement {
            true => text.replacen(find, &chosen, 1),
            false => text.replacen(find, &format!("({chosen})"), 1),
        };
    }
    text
}

fn remove_others(folder: &Path, files: &BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the copy") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            remove_others(&path, files);
        } else if !files.contains(&path) {
            fs::remove_file(&path).expect("an old file");
        }
    }
}
