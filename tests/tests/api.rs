//! `docs/api.txt` and `docs/api-fence.txt` list the public API, so that reviews show every
//! change of it. A removed line may break users' programs.
//!
//! The test parses the source of the locks, and what the crate `auto-mutex` exports of it: the lint `unreachable_pub`
//! ensures that everything `pub` can be reached from outside. `AUTO_MUTEX_BLESS=1 cargo test -p auto-mutex-tests --test
//! api` rewrites the files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules that users do not name, for the macros' expansions and the fuzzers.
const HIDDEN: [&str; 4] = ["attribute", "fuzzing", "store", "wait"];

#[test]
fn the_public_interface_is_the_one_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    find(&root.join("core/src"), &mut files);
    find(&root.join("stores/redis/src"), &mut files);
    for folder in [
        "base",
        "config",
        "observer",
        "store/credentials",
        "store/guarantees",
    ] {
        find(&root.join("stores/seam/src").join(folder), &mut files);
    }
    for file in ["kind.rs", "loss.rs", "store_error.rs"] {
        files.push(root.join("protocol/src").join(file));
    }
    files.push(root.join("stores/seam/src/store/reader.rs"));
    files.push(root.join("stores/seam/src/store/server_health.rs"));
    let mut found = BTreeSet::new();
    for file in files {
        read(&fs::read_to_string(file).unwrap(), &mut found);
    }
    // Whatever `auto-mutex` does not export is for authors of engines, and may change with each version.
    let exports = exports_of_core(&root.join("core/src/public.rs"))
        + &fs::read_to_string(root.join("runtime/src/lib.rs")).unwrap();
    let modules = [
        "operator/src/lib.rs",
        "testkit/src/lib.rs",
        "core/src/tower/mod.rs",
    ];
    let modules = modules.map(|file| fs::read_to_string(root.join(file)).unwrap());
    let all = exports.clone() + &modules.concat();
    found.retain(|item| is_exported(item, &all));
    let mut files = Vec::new();
    find(&root.join("operator/src"), &mut files);
    find(&root.join("testkit/src"), &mut files);
    for file in files {
        read(&fs::read_to_string(file).unwrap(), &mut found);
    }
    found.retain(|item| !item.starts_with("pub use "));
    read(&exports, &mut found);
    let types: Vec<String> = found
        .iter()
        .filter_map(|item| {
            let rest = item
                .strip_prefix("pub struct ")
                .or(item.strip_prefix("pub enum "))?;
            Some(word(rest).to_owned())
        })
        .collect();
    // Keeps only the implementations for public types.
    found.retain(|item| match item.split_once(" for ") {
        Some((start, ty)) if start.starts_with("impl") => types.iter().any(|it| it == word(ty)),
        _ => true,
    });
    assert!(found.len() > 200, "only {} items are found", found.len());
    is_written_down(&found, &root.join("docs/api.txt"));
}

#[test]
fn the_public_interface_of_the_fence_is_the_one_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    find(&root.join("fence/src"), &mut files);
    let mut found = BTreeSet::new();
    for file in files {
        read(&fs::read_to_string(file).unwrap(), &mut found);
    }
    let exports = fs::read_to_string(root.join("fence/src/lib.rs")).unwrap();
    found.retain(|item| is_exported(item, &exports) || item.starts_with("impl"));
    is_written_down(&found, &root.join("docs/api-fence.txt"));
}

fn is_written_down(found: &BTreeSet<String>, written: &Path) {
    let found = by_type(found);
    if std::env::var_os("AUTO_MUTEX_BLESS").is_some() {
        fs::write(written, text(&found)).unwrap();
    }
    let known = parse(&fs::read_to_string(written).unwrap_or_default());
    let (gone, new): (Vec<_>, Vec<_>) = (
        known.difference(&found).collect(),
        found.difference(&known).collect(),
    );
    assert!(
        gone.is_empty() && new.is_empty(),
        "gone, which breaks programs: {gone:#?}\nnew: {new:#?}\nAUTO_MUTEX_BLESS=1 writes {} anew",
        written.display()
    );
}

/// What `auto-mutex` exports from the crate `auto-mutex-core`, without modules, which users cannot name.
fn exports_of_core(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| {
        let (start, names) = line.rsplit_once("::").unwrap_or(("", line));
        match start.starts_with("pub use crate") {
            true => format!("pub use auto_mutex_core::{names}\n"),
            false => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Whether a `pub use` in `exports` contains the item or its type. A macro writes methods without their type.
fn is_exported(item: &str, exports: &str) -> bool {
    let head = item.split(": ").next().unwrap();
    let starts = [
        "impl ",
        "pub struct ",
        "pub enum ",
        "pub trait ",
        "pub async fn ",
        "pub fn ",
    ];
    let name = match head.split_once(" for ") {
        Some((_, ty)) => ty,
        None => match starts.iter().find_map(|start| head.strip_prefix(start)) {
            Some(_) if head.contains("fn ") && item.contains("self") => return true,
            Some(name) => name,
            None => return false,
        },
    };
    let mut uses = exports.lines().filter(|line| line.starts_with("pub use "));
    uses.any(|line| {
        let last = line.rsplit_once("::").map_or(line, |(_, last)| last);
        let mut names = last.split(|c: char| !c.is_alphanumeric() && c != '_');
        names.any(|it| !it.is_empty() && it == word(name))
    })
}

/// Each item with the type that it belongs to; free functions and exports belong to the crate.
fn by_type(found: &BTreeSet<String>) -> BTreeSet<(String, String)> {
    let named = |item: &str| {
        let (head, rest) = item.split_once(": ").unwrap_or((item, ""));
        let ty = match head.split_once(" for ") {
            Some((_, ty)) => word(ty),
            None => {
                let types = ["impl ", "pub struct ", "pub enum ", "pub trait "];
                let rest = types.iter().find_map(|start| head.strip_prefix(start));
                rest.map_or("", word)
            }
        };
        match ty {
            "" => ("crate".to_owned(), item.to_owned()),
            ty if rest.is_empty() || head.contains(" for ") => (ty.to_owned(), item.to_owned()),
            ty => (ty.to_owned(), rest.to_owned()),
        }
    };
    found.iter().map(|item| named(item)).collect()
}

/// Returns the text of the file: a line for each type, followed by its items.
fn text(items: &BTreeSet<(String, String)>) -> String {
    let mut text = String::new();
    let mut last = "";
    for (ty, item) in items {
        if ty != last {
            text.push_str(&format!("{ty}\n"));
            last = ty;
        }
        text.push_str(&format!("    {item}\n"));
    }
    text
}

fn parse(text: &str) -> BTreeSet<(String, String)> {
    let mut ty = String::new();
    let mut items = BTreeSet::new();
    for line in text.lines() {
        match line.strip_prefix("    ") {
            Some(item) => drop(items.insert((ty.clone(), item.to_owned()))),
            None => line.clone_into(&mut ty),
        }
    }
    items
}

/// The lint `unsafe_code` denies unsafe code elsewhere. No maintained crate safely wraps `atexit`, `pthread_atfork` and
/// `fork`, or removes its signal handler in a forked child; and those that collect the sites in a linker section take
/// too long to compile.
#[test]
fn unsafe_code_is_in_four_files_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let member = entry.unwrap().path();
        if member.join("Cargo.toml").exists() || member.ends_with("stores") {
            all(&member, &mut files);
        }
    }
    let allowed = format!("allow({}_code)", "unsafe");
    let mut found: Vec<_> = files
        .iter()
        .filter(|file| fs::read_to_string(file).unwrap().contains(&allowed))
        .map(|file| file.strip_prefix(root).unwrap().display().to_string())
        // The programs of the UI tests are examples of users' programs, which may contain unsafe code.
        .filter(|file| !file.starts_with("tests/ui/"))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "core/src/background/exit/unix/handler.rs",
            "core/src/background/exit/windows.rs",
            "core/src/site/section.rs",
            "tests/src/bin/fork.rs"
        ]
    );
}

fn all(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            all(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Returns the identifier that a text begins with.
fn word(text: &str) -> &str {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !part(c)).next().unwrap_or_default()
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !HIDDEN.contains(&&*name) && name != "tests" {
            find(&path, files);
        } else if name.ends_with(".rs") && !name.starts_with("tests") {
            files.push(path);
        }
    }
}

/// The lines without items hidden from the documentation, which are for the macros' expansions.
fn shown(text: &str) -> Vec<&str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut shown = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[doc(hidden)]" {
            let is_end = |end: &&str| indent(end) == indent(line) && end.ends_with(['}', ';', ',']);
            lines.by_ref().find(is_end);
        } else {
            shown.push(line);
        }
    }
    shown
}

/// Adds the text of each public item up to its body, preceded by the header of its `impl`; also variants of enums, and
/// functions of traits.
fn read(text: &str, found: &mut BTreeSet<String>) {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    let mut lines = shown(text).into_iter();
    let mut around = String::new();
    while let Some(line) = lines.next() {
        let word = line.trim_start();
        let starts = |start| word.starts_with(start);
        if line.starts_with('}') {
            around.clear();
        }
        if line.starts_with("impl") {
            around = up_to_body(line, &mut lines);
            if around.contains(" for ") {
                found.insert(around.clone());
            } else if let Some((_, ty)) = around.split_once("> ") {
                // Listed with the type, whatever its parameters.
                around = format!("impl {ty}");
            }
        } else if starts("pub enum ") || starts("pub trait ") {
            let is_empty = line.ends_with("{}");
            let item = up_to_body(line, &mut lines);
            let item = item.trim_end_matches(" {}").to_owned();
            if is_empty {
                found.insert(item);
                continue;
            }
            let mut attribute = false;
            for inside in lines.by_ref().take_while(|line| !line.starts_with('}')) {
                let inside = inside.trim();
                attribute |= inside.starts_with("#[");
                let named = inside.starts_with(|c: char| c.is_ascii_alphabetic());
                if named && !attribute && (starts("pub enum ") || inside.contains("fn ")) {
                    found.insert(format!("{item}: {inside}"));
                }
                attribute &= !inside.ends_with(']');
            }
            found.insert(item);
        } else if starts("pub struct ") {
            around = up_to_body(line, &mut lines);
            found.insert(around.clone());
        } else if word.contains("_methods!") && !around.is_empty() {
            found.insert(format!("{around}: {word}"));
        } else if starts("pub ") && !starts("pub mod ") {
            let item = up_to_body(line, &mut lines);
            // A constant is listed without its value.
            let is_value = item.starts_with("pub const ") && !item.starts_with("pub const fn ");
            let declared = item.split(" = ").next().filter(|_| is_value);
            let item = declared.unwrap_or(&item);
            let separator = if around.is_empty() { "" } else { ": " };
            found.insert(format!("{around}{separator}{item}"));
        }
    }
}

#[test]
fn texts_with_a_unit_are_read_alike_by_macros_and_runtime() {
    let macros = include_str!("../../macros/src/args/unit.rs");
    let runtime = include_str!("../../stores/seam/src/base/duration/unit.rs");
    assert!(macros == runtime, "they are one file: change both");
}

/// Removes the path by which a macro finds a type in the crate: `$crate::base::error::LockError`.
fn without_paths(text: &str) -> String {
    let mut parts = text.split("$crate::");
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        let (path, rest) = part.split_at(end.unwrap_or(part.len()));
        short += path.rsplit("::").next().unwrap_or(path);
        short += rest;
    }
    short
}

/// Returns the text before `{` or `;`, or before the comma at the end of a field, as one line.
fn up_to_body<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut text = first.trim().to_owned();
    let ends = |text: &str| text.ends_with(['{', ';', '}']) || is_field(text);
    while !ends(&text) {
        let Some(next) = lines.next() else { break };
        if !text.ends_with('(') {
            text.push(' ');
        }
        text.push_str(next.trim());
    }
    let text = match text.starts_with("pub use") {
        true => text.as_str(),
        false => text.split(" {").next().unwrap_or_default(),
    };
    let text = text.trim_end_matches([';', ',', '{', ' ']);
    without_paths(&text.replace(", )", ")"))
}

/// Whether the text is a field, such as `pub name: Type,`.
fn is_field(text: &str) -> bool {
    text.ends_with(',') && !text.contains(" fn ") && !text.starts_with("impl")
}
