//! What compiles with the attributes, and what doesn't: with which messages, and where.
//!
//! `pass` is part of this program, and so is `twins`, which compares what lints say. The programs of `fail` consist of
//! cases, and one `cargo check` collects the messages about all of them. The messages about a file must be those of the
//! `.stderr` file beside it. Those of another compiler aren't compared. To update them:
//! `AUTO_MUTEX_BLESS=1 cargo test -p auto-mutex-ui`, and read every message that changed.

#[path = "../pass/mod.rs"]
mod pass;
#[path = "../twins/mod.rs"]
mod twins;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The compiler whose messages are in the `.stderr` files.
const COMPILER: &str = "rustc 1.95.";

/// The folder of the cases, as the compiler names it.
const CASES: &str = "tests/ui/fail/";

fn tool(variable: &str, name: &str) -> Command {
    Command::new(env::var_os(variable).unwrap_or_else(|| OsString::from(name)))
}

fn is_known() -> bool {
    let version = tool("RUSTC", "rustc").arg("--version").output().unwrap();
    String::from_utf8_lossy(&version.stdout).starts_with(COMPILER)
}

#[test]
fn what_must_not_compile_says_why() {
    let known = is_known();
    let bless = env::var_os("AUTO_MUTEX_BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fail");
    let cases = files(&folder, "rs");
    let mut messages = messages();
    let mut wrong = String::new();
    for case in &cases {
        let said = messages.remove(case).unwrap_or_default();
        if !said.iter().any(|it| it.text.starts_with("error")) {
            writeln!(
                wrong,
                "{CASES}{case}.rs: it compiles, or is no module of main.rs"
            )
            .unwrap();
        }
        let said = said.into_iter().map(|it| it.text).collect::<String>();
        let file = folder.join(case).with_extension("stderr");
        if bless {
            fs::write(&file, said).unwrap();
        } else if known {
            let wanted = fs::read_to_string(&file).unwrap_or_default();
            wrong += &differences(case, &wanted, &said);
        }
    }
    for (place, others) in messages {
        for message in others {
            writeln!(wrong, "{place} is no case:\n{}", message.text).unwrap();
        }
    }
    for old in files(&folder, "stderr").difference(&cases) {
        writeln!(wrong, "{CASES}{old}.stderr has no case").unwrap();
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    if !known {
        eprintln!("the messages are not compared: they are those of {COMPILER}x");
    }
}

/// The files with this extension, without it, by their paths from `folder`.
fn files(folder: &Path, extension: &str) -> BTreeSet<String> {
    let (mut found, mut folders) = (BTreeSet::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                let name = path.strip_prefix(folder).unwrap().with_extension("");
                found.insert(name.to_str().unwrap().to_owned());
            }
        }
    }
    found
}

/// The messages that are only in one of two texts.
fn differences(case: &str, wanted: &str, said: &str) -> String {
    let only = |these: &str, others: &str, what: &str| {
        let others: Vec<_> = others.split("\n\n").collect();
        let only = these.split("\n\n").filter(|it| !others.contains(it));
        only.map(|it| format!("{CASES}{case}.rs: {what}:\n{it}\n\n"))
            .collect::<String>()
    };
    let found = only(wanted, said, "expected") + &only(said, wanted, "said instead");
    if found.is_empty() && wanted != said {
        return format!("{CASES}{case}.rs: the order of the messages, or their number\n");
    }
    found
}

struct Message {
    line: u64,
    column: u64,
    text: String,
}

/// What the compiler says about each case, from top to bottom. Messages about no case are under the place that they
/// name.
fn messages() -> BTreeMap<String, Vec<Message>> {
    let lines = cargo_check(&["--bins", "--test=ui-returns", "--keep-going"]);
    let mut messages = BTreeMap::<String, Vec<Message>>::new();
    for line in &lines {
        let root = line["target"]["src_path"].as_str().unwrap_or_default();
        let message = &line["message"];
        if line["reason"] != "compiler-message" || !root.contains(CASES) || is_summary(message) {
            continue;
        }
        let (place, line, column) = place(message).unwrap_or_default();
        let text = portable(message["rendered"].as_str().unwrap());
        let text = Message { line, column, text };
        messages.entry(place).or_default().push(text);
    }
    assert!(!messages.is_empty(), "cargo never got to the cases");
    for said in messages.values_mut() {
        said.sort_by_key(|it| (it.line, it.column));
    }
    messages
}

/// What `cargo check` of the cases says, line by line.
fn cargo_check(options: &[&str]) -> Vec<Value> {
    // With the folder of this build, so that what both need is compiled once.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = tool("CARGO", "cargo")
        .args(["check", "--package=auto-mutex-ui", "--features=fail"])
        .args(["--locked", "--offline", "--message-format=json"])
        .args(options)
        .arg("--target-dir")
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        // Which of two messages about one place is left out depends on this.
        .env("CARGO_INCREMENTAL", "1")
        // The tests themselves may be compiled by another driver, which has messages of its own.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .output()
        .expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
    let lines = lines.filter(|line| line.starts_with('{'));
    let lines: Vec<_> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!lines.is_empty(), "cargo checked nothing:\n{said}");
    lines
}

/// Whether it only sums up: `aborting due to 3 previous errors; 1 warning emitted`.
fn is_summary(message: &Value) -> bool {
    let text = message["message"].as_str().unwrap();
    message["level"] == "failure-note"
        || text.starts_with("aborting due to")
        || text.ends_with("emitted")
}

/// Where a message belongs: its case, line and column. Of code that a macro made, where the macro was called.
fn place(message: &Value) -> Option<(String, u64, u64)> {
    let spans = message["spans"].as_array()?;
    let primary = spans.iter().find(|it| it["is_primary"] == true)?;
    let calls = std::iter::successors(Some(primary), |span| Some(&span["expansion"]["span"]));
    for span in calls.take_while(|span| span.is_object()) {
        let file = span["file_name"].as_str()?;
        if let Some(case) = file.strip_prefix(CASES) {
            let (line, column) = (span["line_start"].as_u64()?, span["column_start"].as_u64()?);
            return Some((case.strip_suffix(".rs")?.to_owned(), line, column));
        }
    }
    Some((primary["file_name"].as_str()?.to_owned(), 0, 0))
}

/// The text of a message without what changes by itself: the line numbers of other files, the code of the standard
/// library, and the width of the line numbers at the left.
fn portable(rendered: &str) -> String {
    #[derive(PartialEq)]
    enum Of {
        Case,
        Workspace,
        Rust,
    }
    let arrow = rendered.lines().find_map(|line| line.find("--> "));
    let width = arrow.unwrap_or(0);
    let (mut text, mut code) = (String::new(), Of::Case);
    for line in rendered.lines() {
        let (left, rest) = line.split_at_checked(width).unwrap_or((line, ""));
        if width == 0 || !left.chars().all(|c| c == ' ' || c.is_ascii_digit()) {
            if line != "..." {
                code = Of::Case;
            }
            writeln!(text, "{line}").unwrap();
            continue;
        }
        let mut rest = rest.to_owned();
        if let Some((kind, path)) = rest.split_at_checked(4)
            && ["--> ", "::: "].contains(&kind)
        {
            let file = path.split(':').next().unwrap();
            code = if path.starts_with(CASES) {
                Of::Case
            } else if let Some((_, file)) = file.split_once("/library/") {
                rest = format!("{kind}$RUST/{file}");
                Of::Rust
            } else {
                rest = format!("{kind}{file}");
                Of::Workspace
            };
        } else if code == Of::Rust && !rest.starts_with(" =") {
            continue;
        }
        let number = if code == Of::Case { left.trim() } else { "" };
        writeln!(text, "{}", format!("{number:<3}{rest}").trim_end()).unwrap();
    }
    text.trim_end().to_owned() + "\n\n"
}
