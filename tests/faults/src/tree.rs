//! The copy of the repository that has all faults, each behind a switch.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::list::{Area, Fault};

const ALLOW: &str = "#![allow(warnings)] ";
/// What each changed crate gets.
const SWITCH: &str = "
pub(crate) fn __fault(id: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var(\"AUTO_MUTEX_FAULT\").ok()).as_deref() == Some(id)
}
";

/// Brings the copy up to date, and returns its folder. A file without a change keeps its time, so that cargo builds little again.
pub(crate) fn make(root: &Path, areas: &[Area]) -> PathBuf {
    let tree = root.join("target/faults/tree");
    let listed = Command::new("git")
        .args(["ls-files", "-co", "--exclude-standard", "-z"])
        .current_dir(root)
        .output();
    let listed = String::from_utf8(listed.expect("git").stdout).expect("names of files");
    let changed: Vec<_> = areas.iter().flat_map(Area::by_file).collect();
    let crates: BTreeSet<_> = changed.iter().map(|(file, _)| crate_of(file)).collect();
    let mut files = BTreeSet::new();
    for file in listed
        .split_terminator('\0')
        .filter(|file| root.join(file).is_file())
    {
        let from = root.join(file);
        let faults: Vec<_> = changed
            .iter()
            .filter(|it| it.0 == file)
            .flat_map(|it| it.1.clone())
            .collect();
        let mut text = match faults.is_empty() {
            true => fs::read(&from).expect(file),
            false => switched(&from, &faults)
                .unwrap_or_else(|error| panic!("{error}"))
                .into_bytes(),
        };
        if crates.contains(file) {
            text.splice(..0, ALLOW.bytes());
            text.extend(SWITCH.bytes());
        }
        let to = tree.join(file);
        if fs::read(&to).ok().as_ref() != Some(&text) {
            fs::create_dir_all(to.parent().expect("a folder")).expect(file);
            fs::write(&to, text).expect(file);
            fs::set_permissions(&to, from.metadata().expect(file).permissions()).expect(file);
        }
        files.insert(to);
    }
    remove_others(&tree, &files);
    tree
}

fn crate_of(file: &str) -> String {
    let (package, _) = file.split_once("/src/").expect("a file of a package");
    match package {
        "cli" => "cli/src/main.rs".to_owned(),
        _ => format!("{package}/src/lib.rs"),
    }
}

/// The text of a file with its faults behind switches.
pub(crate) fn switched(path: &Path, faults: &[&Fault]) -> Result<String, String> {
    let mut text =
        fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for fault in faults {
        let (id, find, replace) = (&fault.id, fault.find.trim(), fault.replace.trim());
        let times = text.matches(find).count();
        if times != 1 {
            return Err(format!(
                "{id}: the text is {times} times in {}:\n{find}",
                path.display()
            ));
        }
        let chosen = format!("if crate::__fault({id:?}) {{ {replace} }} else {{ {find} }}");
        let is_statement = find.ends_with([';', '}']);
        text = text.replacen(
            find,
            &if is_statement {
                chosen
            } else {
                format!("({chosen})")
            },
            1,
        );
    }
    Ok(text)
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
