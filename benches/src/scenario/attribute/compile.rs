//! Measures how long functions take to compile, with the attribute and without.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::COMPILE;
use crate::Failure;
use crate::measure::Values;
use crate::measure::cpu::{self, Usage};
use crate::run::{Placement, order};
use crate::scenario::Bench;
use crate::scenario::bench::progress;

/// A crate that is compiled with the attribute and without.
struct Kind {
    who: &'static str,
    krate: &'static str,
    /// Builds instead of only checking.
    builds: bool,
    /// The source; the argument tells whether with the attribute.
    source: fn(bool) -> String,
}

impl Kind {
    fn command(&self) -> &'static [&'static str] {
        if self.builds { &["build"] } else { &["check"] }
    }
}

/// Annotated sync and async functions are each compared with plain functions of the same kind: the compiler takes
/// several times as long for an async function.
const KINDS: [Kind; 7] = [
    Kind {
        who: "1,000 of three lines, sync",
        krate: "small-sync",
        builds: false,
        source: |annotated| functions(1_000, "fn", 3, SMALL, annotated),
    },
    Kind {
        who: "1,000 of three lines, async",
        krate: "small-async",
        builds: false,
        source: |annotated| functions(1_000, "async fn", 3, SMALL, annotated),
    },
    Kind {
        who: "300 of six lines, sync",
        krate: "ordinary-sync",
        builds: false,
        source: |annotated| functions(300, "fn", 2, ORDINARY, annotated),
    },
    Kind {
        who: "300 of six lines, async",
        krate: "ordinary-async",
        builds: false,
        source: |annotated| functions(300, "async fn", 2, ORDINARY, annotated),
    },
    Kind {
        who: "10 chains of 25, async",
        krate: "chains",
        builds: false,
        source: chains,
    },
    Kind {
        who: "200 methods of async_trait",
        krate: "methods",
        builds: false,
        source: methods,
    },
    Kind {
        who: "300 of six lines, built",
        krate: "built",
        builds: true,
        source: |annotated| {
            let both = [("fn", "sync"), ("async fn", "later")].map(|(kind, name)| {
                let functions = functions(150, kind, 2, ORDINARY, annotated);
                format!("pub mod {name} {{ {functions} }}\n")
            });
            both.concat() + &boxed(150)
        },
    },
];

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let dir = fs::canonicalize(&options.out)?.join("check");
    let target = dir.join("target");
    let mut crates = Vec::new();
    for kind in &KINDS {
        for name in ["plain", "annotated"] {
            let krate = dir.join(format!("{name}-{}", kind.krate));
            write(&krate, &(kind.source)(name == "annotated"))?;
            progress(&format!("{COMPILE}, {name} {}: dependencies", kind.who));
            cargo(&krate, kind.command(), &target)?;
            crates.push((kind, name, krate));
        }
    }
    let kinds: Vec<usize> = (0..crates.len()).collect();
    for round in 0..options.repetitions.min(if options.page { 3 } else { 5 }) {
        let mut all = vec![Values::new(); crates.len()];
        for index in order(&kinds, round) {
            let (kind, name, krate) = &crates[index];
            progress(&format!(
                "{COMPILE}, round {}: {name} {}",
                round + 1,
                kind.who
            ));
            // A new modification time makes cargo compile the crate again.
            let source = krate.join("src/lib.rs");
            fs::write(&source, fs::read(&source)?)?;
            let (usage, used, started) = (Usage::now([]), cpu::ended_children(), Instant::now());
            cargo(krate, kind.command(), &target)?;
            let seconds = started.elapsed().as_secs_f64();
            let values = [
                ("compile_s", seconds),
                ("compile_cpu_s", cpu::ended_children() - used),
                ("foreign_cpu", Usage::now([]).foreign_since(usage) / seconds),
            ];
            all[index] = values.map(|(name, value)| (name.to_owned(), value)).into();
        }
        for (kind, pair) in KINDS.iter().zip(all.chunks(2)) {
            let [plain, annotated] = pair else { continue };
            let mut values = annotated.clone();
            let used = plain["compile_cpu_s"];
            values.insert("plain_cpu_s".to_owned(), used);
            values.insert("to_plain".to_owned(), annotated["compile_cpu_s"] / used);
            bench.add(COMPILE, Placement::Both, kind.who, round, values);
        }
    }
    Ok(())
}

/// Runs cargo in a package, with a target folder of our own.
pub(super) fn cargo(krate: &Path, command: &[&str], target: &Path) -> Result<(), Failure> {
    let output = Command::new("cargo")
        .args(command)
        .args(["--offline", "--quiet"])
        .current_dir(krate)
        .env("CARGO_TARGET_DIR", target)
        // Incremental compilation would check nothing again, because the content of the file has not changed.
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("cargo {}: {error}", command.join(" ")).into())
}

fn write(krate: &Path, source: &str) -> Result<(), Failure> {
    let name = krate.file_name().unwrap_or_default().to_string_lossy();
    let path = workspace().join("runtime");
    let dependencies = format!("async-trait = \"0.1\"\nauto-mutex = {{ path = {path:?} }}");
    package(krate, &name, &dependencies, ("lib.rs", source))
}

/// Writes a package outside of the workspace, with the workspace's versions of its dependencies.
pub(super) fn package(
    krate: &Path,
    name: &str,
    dependencies: &str,
    (file, source): (&str, &str),
) -> Result<(), Failure> {
    fs::create_dir_all(krate.join("src"))?;
    let manifest = format!(
        "[package]\nname = {name:?}\nedition = \"2024\"\n[dependencies]\n{dependencies}\n[workspace]\n"
    );
    fs::write(krate.join("Cargo.toml"), manifest)?;
    fs::copy(workspace().join("Cargo.lock"), krate.join("Cargo.lock"))?;
    fs::write(krate.join("src").join(file), source)?;
    Ok(())
}

/// Three lines, as small functions have.
const SMALL: &str = "    let lengths = names.iter().map(String::len);
    let sum = id + lengths.sum::<usize>() as u64;
    Ok(sum)
";

const ORDINARY: &str = "    let mut lines = Vec::new();
    let mut sum = id;
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        sum += name.chars().map(u64::from).sum::<u64>() + index as u64;
        lines.push(format!(\"{index}: {}\", name.trim()));
    }
    println!(\"{}\", lines.join(\", \"));
    Ok(sum)
";

/// The attribute of function `number`. Every `keyed`-th has a key.
fn attribute(number: usize, keyed: usize, annotated: bool) -> &'static str {
    match (annotated, number % keyed) {
        (false, _) => "",
        (true, 0) => "#[auto_mutex::auto_mutex(expire = 100, block = 10, key = id)]\n",
        (true, _) => "#[auto_mutex::auto_mutex(expire = 100, block = 10)]\n",
    }
}

fn functions(count: usize, kind: &str, keyed: usize, body: &str, annotated: bool) -> String {
    let mut source = String::from("use auto_mutex::LockError;\n");
    for number in 0..count {
        let attribute = attribute(number, keyed, annotated);
        // Writing to a String cannot fail.
        let _ = write!(
            source,
            "{attribute}pub {kind} work_{number}(id: u64, names: &[String]) -> Result<u64, LockError> {{\n{body}}}\n"
        );
    }
    source
}

/// A function that makes the compiler generate code for the futures of the module `later`.
fn boxed(count: usize) -> String {
    let mut source = String::from(
        "type Boxed<'a> = std::pin::Pin<Box<dyn Future<Output = Result<u64, auto_mutex::LockError>> + 'a>>;\n\
         pub fn boxed(id: u64, names: &[String]) -> Vec<Boxed<'_>> {\n    vec![\n",
    );
    for number in 0..count {
        let _ = writeln!(source, "        Box::pin(later::work_{number}(id, names)),");
    }
    source + "    ]\n}\n"
}

/// Async functions, each of which awaits the one before it. To tell whether the last one is `Send`, the compiler looks
/// through all of them.
fn chains(annotated: bool) -> String {
    let mut source = String::from("use auto_mutex::LockError;\nfn send<T: Send>(_: T) {}\n");
    for chain in 0..10 {
        for number in 0..25 {
            let attribute = attribute(number, 2, annotated);
            let before = match number {
                0 => "Ok(id)".to_owned(),
                _ => format!("Ok(chain_{chain}_{}(id + 1).await? + id)", number - 1),
            };
            let _ = write!(
                source,
                "{attribute}pub async fn chain_{chain}_{number}(id: u64) -> Result<u64, LockError> {{\n    {before}\n}}\n"
            );
        }
        let _ = writeln!(
            source,
            "pub fn send_{chain}() {{ send(chain_{chain}_24(1)) }}"
        );
    }
    source
}

fn methods(annotated: bool) -> String {
    let mut source = String::from("use auto_mutex::LockError;\npub struct Service;\n");
    for block in 0..20 {
        let _ = writeln!(
            source,
            "#[async_trait::async_trait]\npub trait Work{block} {{"
        );
        for number in 0..10 {
            let _ = writeln!(
                source,
                "    async fn work_{block}_{number}(&self, id: u64, names: &[String]) -> Result<u64, LockError>;"
            );
        }
        let _ = writeln!(
            source,
            "}}\n#[async_trait::async_trait]\nimpl Work{block} for Service {{"
        );
        for number in 0..10 {
            let attribute = attribute(number, 2, annotated);
            let _ = write!(
                source,
                "{attribute}async fn work_{block}_{number}(&self, id: u64, names: &[String]) -> Result<u64, LockError> {{\n\
                 {SMALL}}}\n"
            );
        }
        source.push_str("}\n");
    }
    source
}

/// The root of the workspace.
pub(super) fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}
