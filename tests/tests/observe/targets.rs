//! The targets and levels of all events and spans are those of the guide's page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

type Targets = BTreeSet<(String, String)>;

#[test]
fn the_guide_has_the_target_and_level_of_every_event() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let consts = fs::read_to_string(root.join("stores/seam/src/base/target.rs")).unwrap();
    let mut emitted = Targets::new();
    for folder in [
        "core", "stores", "operator", "protocol", "fence", "runtime", "macros",
    ] {
        in_folder(&root.join(folder), &consts, &mut emitted);
    }
    let page = fs::read_to_string(root.join("runtime/src/guide/observe.md")).unwrap();
    assert_eq!(of_the_page(&page), emitted);
}

fn of_the_page(page: &str) -> Targets {
    let (_, table) = page
        .split_once("| target | level | what |\n")
        .expect("the table");
    let rows = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .skip(1);
    let (mut found, mut target) = (Targets::new(), String::new());
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        if !cells[1].is_empty() {
            target = cells[1].trim_matches('`').to_owned();
        }
        let levels = cells[2].split(", ");
        found.extend(levels.map(|level| (target.clone(), level.to_owned())));
    }
    found
}

fn in_folder(folder: &Path, consts: &str, found: &mut Targets) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if path.is_dir() && !["target", "tests", "benches"].contains(&&*name) {
            in_folder(&path, consts, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            in_file(&path, consts, found);
        }
    }
}

fn in_file(path: &Path, consts: &str, found: &mut Targets) {
    let text = fs::read_to_string(path).unwrap();
    let code = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let shown = path.display();
    for event in code.split("tracing::").skip(1) {
        let Some((word, rest)) = event.split_once("!(") else {
            continue;
        };
        let level = word.trim_end_matches("_span");
        if !["error", "warn", "info", "debug", "trace"].contains(&level) {
            continue;
        }
        let target = rest.trim_start().strip_prefix("target: ");
        let target = target.unwrap_or_else(|| panic!("{shown}: no target: {word}!({rest}"));
        let (name, _) = target.split_once(',').unwrap();
        let value = consts.split_once(&format!("const {name}: &str = \""));
        let (_, value) = value.unwrap_or_else(|| panic!("{shown}: {name} is not in target.rs"));
        let (value, _) = value.split_once('"').unwrap();
        found.insert((value.to_owned(), level.to_uppercase()));
    }
}
