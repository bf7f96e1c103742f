//! Measures `cargo check` of a thousand functions, with the attribute and without.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::COMPILE;
use crate::Failure;
use crate::measure::cpu::{self, Usage};
use crate::run::{Placement, order};
use crate::scenario::Bench;
use crate::scenario::bench::progress;

const FUNCTIONS: usize = 1_000;

/// The functions of one crate. Annotated sync and async functions are each compared with plain functions of the same
/// kind: the compiler takes several times as long for an async function.
struct Kind {
    who: &'static str,
    krate: &'static str,
    is_async: bool,
    annotated: bool,
}

const KINDS: [Kind; 4] = [
    Kind {
        who: "1,000 annotated, sync",
        krate: "annotated-sync",
        is_async: false,
        annotated: true,
    },
    Kind {
        who: "1,000 plain, sync",
        krate: "plain-sync",
        is_async: false,
        annotated: false,
    },
    Kind {
        who: "1,000 annotated, async",
        krate: "annotated-async",
        is_async: true,
        annotated: true,
    },
    Kind {
        who: "1,000 plain, async",
        krate: "plain-async",
        is_async: true,
        annotated: false,
    },
];

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let dir = fs::canonicalize(&options.out)?.join("check");
    let mut crates = Vec::new();
    for kind in KINDS {
        let who = kind.who;
        let krate = dir.join(kind.krate);
        write_crate(&krate, kind)?;
        progress(&format!("{COMPILE}, {who}: dependencies"));
        check(&krate)?;
        crates.push((who, krate));
    }
    let kinds: Vec<usize> = (0..crates.len()).collect();
    for round in 0..options.repetitions.min(if options.page { 3 } else { 5 }) {
        for kind in order(&kinds, round) {
            let (who, krate) = &crates[kind];
            progress(&format!("{COMPILE}, round {}: {who}", round + 1));
            // A new modification time makes cargo check the crate again.
            let source = krate.join("src/lib.rs");
            fs::write(&source, fs::read(&source)?)?;
            let (usage, used, started) = (Usage::now([]), cpu::ended_children(), Instant::now());
            check(krate)?;
            let seconds = started.elapsed().as_secs_f64();
            let values = [
                ("check_s", seconds),
                ("check_cpu_s", cpu::ended_children() - used),
                ("foreign_cpu", Usage::now([]).foreign_since(usage) / seconds),
            ];
            let values = values.map(|(name, value)| (name.to_owned(), value));
            bench.add(COMPILE, Placement::Both, who, round, values.into());
        }
    }
    Ok(())
}

fn check(krate: &Path) -> Result<(), Failure> {
    let output = Command::new("cargo")
        .args(["check", "--offline", "--quiet"])
        .current_dir(krate)
        .env("CARGO_TARGET_DIR", krate.join("../target"))
        // Incremental compilation would check nothing again, because the content of the file has not changed.
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("cargo check: {error}").into())
}

fn write_crate(krate: &Path, kind: Kind) -> Result<(), Failure> {
    fs::create_dir_all(krate.join("src"))?;
    let workspace = workspace();
    let name = kind.krate;
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n[dependencies]\n\
         auto-mutex = {{ path = {:?} }}\n[workspace]\n",
        workspace.join("runtime")
    );
    fs::write(krate.join("Cargo.toml"), manifest)?;
    fs::copy(workspace.join("Cargo.lock"), krate.join("Cargo.lock"))?;
    fs::write(krate.join("src/lib.rs"), source(&kind))?;
    Ok(())
}

/// Returns the source of typical functions. If they are annotated, every third has a key.
fn source(
    Kind {
        is_async,
        annotated,
        ..
    }: &Kind,
) -> String {
    let mut source = String::from("use auto_mutex::LockError;\n");
    let kind = if *is_async { "async " } else { "" };
    for number in 0..FUNCTIONS {
        let attribute = match (*annotated, number % 3) {
            (false, _) => String::new(),
            (true, 0) => "#[auto_mutex::auto_mutex(expire = 100, block = 10, key = id)]\n".into(),
            (true, _) => "#[auto_mutex::auto_mutex(expire = 100, block = 10)]\n".into(),
        };
        // Writing to a String cannot fail.
        let _ = write!(
            source,
            "{attribute}pub {kind}fn work_{number}(id: u64, names: &[String]) -> Result<u64, LockError> {{\n    \
             let mut sum = id;\n    for name in names {{\n        sum += name.len() as u64;\n    }}\n    Ok(sum)\n}}\n"
        );
    }
    source
}

/// The root of the workspace.
pub(super) fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
