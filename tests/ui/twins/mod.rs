//! Lints say the same of an annotated function as of the same function without the attribute, at the same place.
//!
//! `functions.rs` is compiled plain, with an attribute on each function, and with one on each block, by rustc and by
//! clippy. All that they can warn of is on. [`DIFFERENCES`] has what they say of only one of two twins, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use super::{cargo_check, is_known, tool};

/// What is annotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Annotated {
    Nothing,
    Functions,
    Leaders,
    Blocks,
}

use Annotated::{Blocks, Functions, Leaders, Nothing};

const ALL: [Annotated; 4] = [Nothing, Functions, Leaders, Blocks];

/// A kind of warning that only one of two twins gets.
struct Difference {
    lint: &'static str,
    /// The functions that it is about, or `*` for any.
    functions: &'static str,
    of: &'static [Annotated],
    why: &'static str,
}

const fn difference(
    lint: &'static str,
    functions: &'static str,
    of: &'static [Annotated],
    why: &'static str,
) -> Difference {
    Difference {
        lint,
        functions,
        of,
        why,
    }
}

const ANY: &[Annotated] = &[Functions, Leaders, Blocks];

#[rustfmt::skip]
const DIFFERENCES: &[Difference] = &[
    difference("clippy::unnecessary_wraps", "*", ANY, "the function returns the lock's errors"),
    difference("clippy::unused_async", "*", ANY, "the function awaits its lock"),
    difference("clippy::missing_const_for_fn", "*", ANY, "a function that waits for a lock is not constant"),
    difference("clippy::implicit_return", "*", ANY, "it is about the last expression, which is the expansion's"),
    difference("unused_variables", "used_by_options options used_by_options_of_a_leader", ANY, "the options use the parameters, and the closures of `options` have parameters of their own"),
    difference("clippy::min_ident_chars", "options", &[Functions], "a closure in the attribute has this parameter"),
    difference("clippy::shadow_reuse", "options underscore_in_closure underscores_in_closure", &[Functions], "a closure in the attribute has parameters with the function's names"),
    difference("clippy::used_underscore_binding", "underscore_in_key", &[Functions], "the key uses it"),
    difference("clippy::manual_async_fn", "block_of_async", &[Functions], "clippy looks for a function that consists of the block"),
    difference("clippy::future_not_send", "opaque_argument borrowed_at_the_end set", &[Leaders], "the body borrows the parameter, which has to be `Sync`"),
    difference("clippy::redundant_clone", "new set", &[Leaders], "the next term may need the value"),
    difference("unused_assignments", "mut_assigned_only", &[Leaders], "the next term may read the value"),
    difference("unused_variables", "mut_assigned_only", &[Leaders], "the same"),
    difference("clippy::default_numeric_fallback", "variables_unused", &[Functions], "clippy does not look for it in the arm of a `match`"),
    difference("clippy::needless_question_mark", "question_mark", &[Functions], "clippy looks at the last expression of a function only"),
];

/// The markers in `functions.rs`.
const MARKERS: [&str; 4] = ["#[each", "#[locks", "#[leads", "#[block"];

#[test]
fn lints_say_the_same_of_annotated_functions() {
    if !is_known() {
        return eprintln!("not compared: the differences are those of another compiler");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("twins");
    let functions = include_str!("functions.rs");
    let annotated = functions.lines().filter(|line| marker(line).is_some());
    assert!(annotated.count() >= 150);
    write(&folder, functions);

    let twins = Twins {
        folder,
        runtime: runtime(),
    };
    let mut unused: BTreeSet<usize> = (0..DIFFERENCES.len()).collect();
    let mut wrong = twins.said(&["rustc"], "2024", &mut unused);
    wrong += &twins.said(&["rustc"], "2021", &mut unused);
    let clippy = tool("CLIPPY_DRIVER", "clippy-driver")
        .arg("--version")
        .output();
    if clippy.is_ok_and(|it| it.status.success()) {
        wrong += &twins.said(&["clippy-driver", "rustc"], "2024", &mut unused);
        for difference in unused {
            let Difference {
                lint,
                functions,
                why,
                ..
            } = &DIFFERENCES[difference];
            writeln!(
                wrong,
                "no longer a difference: {lint} of {functions}: {why}"
            )
            .unwrap();
        }
    } else {
        eprintln!("without clippy, only the compiler's own lints are compared");
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// The name and the options in a marker.
fn marker(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start();
    let name = MARKERS.into_iter().find(|it| line.starts_with(it))?;
    let options = line.strip_prefix(name)?.strip_suffix(']')?;
    Some((name, options))
}

/// Writes a crate with a module for each way to annotate the functions, each with their sync and their async forms.
fn write(folder: &Path, functions: &str) {
    let mut root = "//! Twins.\n".to_owned();
    for annotated in ALL {
        let module = format!("{annotated:?}").to_lowercase();
        writeln!(
            root,
            "/// Sync and async.\npub mod {module} {{ pub mod sync; pub mod later; }}"
        )
        .unwrap();
        fs::create_dir_all(folder.join(&module)).unwrap();
        for (name, is_async) in [("sync.rs", false), ("later.rs", true)] {
            let file = folder.join(&module).join(name);
            fs::write(file, twin(functions, annotated, is_async)).unwrap();
        }
    }
    fs::write(folder.join("lib.rs"), root).unwrap();
}

fn twin(functions: &str, annotated: Annotated, is_async: bool) -> String {
    let mut twin = String::new();
    for line in functions.lines() {
        if let Some((marker, options)) = marker(line) {
            let attribute = match (annotated, marker) {
                (Functions, "#[each" | "#[locks") | (Blocks, "#[block") => "auto_mutex",
                (Leaders, "#[each" | "#[leads") => "auto_leader",
                _ => "",
            };
            // A comment keeps the lines, and clippy would complain of an empty one.
            match attribute {
                "" => twin += "//\n",
                _ => writeln!(twin, "#[auto_mutex::{attribute}{options}]").unwrap(),
            }
            continue;
        }
        let (of_functions, of_calls) = if is_async {
            ("async ", "pause().await")
        } else {
            ("", "pause()")
        };
        let mut line = line.replace("/*async*/ ", of_functions);
        if !line.contains("fn pause()") {
            line = line.replace("pause()", of_calls);
        }
        writeln!(twin, "{line}").unwrap();
    }
    twin
}

/// The compiled `auto-mutex`.
fn runtime() -> PathBuf {
    let artifacts = cargo_check(&["--bin=ui-lints"]);
    let is_runtime = |line: &&Value| {
        line["reason"] == "compiler-artifact" && line["target"]["name"] == "auto_mutex"
    };
    let runtime = artifacts
        .iter()
        .find(is_runtime)
        .expect("auto-mutex is compiled");
    let files = runtime["filenames"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str);
    files
        .map(PathBuf::from)
        .find(|it| it.extension().is_some_and(|it| it == "rmeta"))
        .unwrap()
}

/// A warning: its lint, its text, and its places, each with its file's name, lines and columns.
type Warning = (String, String, Vec<(String, [u64; 4])>);

/// The crate of all twins, and the compiled `auto-mutex`.
struct Twins {
    folder: PathBuf,
    runtime: PathBuf,
}

impl Twins {
    /// What a compiler says of twins that is not the same, and not among the [`DIFFERENCES`].
    fn said(&self, compiler: &[&str], edition: &str, unused: &mut BTreeSet<usize>) -> String {
        let warnings = self.warnings(compiler, edition);
        let plain = &warnings["nothing"];
        let mut wrong = String::new();
        for annotated in [Functions, Leaders, Blocks] {
            let module = format!("{annotated:?}").to_lowercase();
            let text =
                |file: &str| fs::read_to_string(self.folder.join(&module).join(file)).unwrap();
            let texts = BTreeMap::from(["sync.rs", "later.rs"].map(|file| (file, text(file))));
            let these = &warnings[&*module];
            for warning in these.iter().chain(plain).collect::<BTreeSet<_>>() {
                let count = |all: &[Warning]| all.iter().filter(|it| *it == warning).count();
                let (many, plainly) = (count(these), count(plain));
                if many == plainly {
                    continue;
                }
                let (lint, message, places) = warning;
                let (file, [line, column, ..]) = &places[0];
                let function = function_at(&texts[&**file], *line);
                let known = DIFFERENCES.iter().position(|it| {
                    it.lint == lint
                        && it.of.contains(&annotated)
                        && (it.functions == "*" || it.functions.split(' ').any(|it| it == function))
                });
                match known {
                Some(known) => _ = unused.remove(&known),
                None => writeln!(
                    wrong,
                    "{} {edition}: {module}, {file}:{line}:{column}, `{function}`: {lint} {many} times, without the attribute {plainly} times: {message}",
                    compiler[0],
                )
                .unwrap(),
            }
            }
        }
        wrong
    }

    /// All warnings of a compiler, by the module that they are about.
    fn warnings(&self, compiler: &[&str], edition: &str) -> BTreeMap<String, Vec<Warning>> {
        let mut command = tool("RUSTC", compiler[0]);
        if compiler.len() > 1 {
            command = tool("CLIPPY_DRIVER", compiler[0]);
            command.args(&compiler[1..]);
        }
        let mut dependencies = OsString::from("dependency=");
        dependencies.push(self.runtime.parent().unwrap());
        let mut extern_crate = OsString::from("auto_mutex=");
        extern_crate.push(&self.runtime);
        let output = command
            .args(["lib.rs", "--crate-name=twins", "--crate-type=lib"])
            .arg(format!("--edition={edition}"))
            .args(["--emit=metadata", "--error-format=json", "-L"])
            .arg(dependencies)
            .arg("--extern")
            .arg(extern_crate)
            .args(lints(compiler[0]).iter().map(|lint| format!("-W{lint}")))
            .current_dir(&self.folder)
            .env_remove("CLIPPY_ARGS")
            .output()
            .unwrap();
        let mut warnings = BTreeMap::<String, Vec<Warning>>::new();
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let code = message["code"]["code"].as_str().unwrap_or_default();
            let text = message["message"].as_str().unwrap();
            // `#[deny]` is in `functions.rs`, too.
            assert!(
                !code.is_empty() || message["level"] != "error" || text.starts_with("aborting"),
                "{}",
                message["rendered"]
            );
            assert!(
                !code.starts_with('E'),
                "{}",
                message["rendered"].as_str().unwrap()
            );
            let spans = message["spans"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|it| it["is_primary"] == true);
            let places: Vec<_> = spans.filter_map(place).collect();
            if let Some((module, ..)) = places.first() {
                let module = module.clone();
                let text = text.replace(&format!("{module}::"), "");
                let places = places.into_iter().map(|(_, file, at)| (file, at)).collect();
                warnings
                    .entry(module)
                    .or_default()
                    .push((code.to_owned(), text, places));
            }
        }
        warnings
    }
}

/// The function at a line, or after it if the line is an attribute.
fn function_at(text: &str, line: u64) -> String {
    let lines: Vec<_> = text.lines().collect();
    let name = |line: &&str| {
        let (before, after) = line.split_once("fn ")?;
        let is_item = before
            .split_whitespace()
            .all(|it| it == "async" || it.starts_with("pub"));
        is_item.then(|| {
            after
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .next()
                .unwrap_or_default()
                .to_owned()
        })
    };
    let at = usize::try_from(line).unwrap() - 1;
    let is_before = |line: &&&str| line.trim_start().starts_with(['#', '/']);
    let first = at + lines[at..].iter().take_while(is_before).count();
    lines[..=first]
        .iter()
        .rev()
        .find_map(name)
        .unwrap_or_default()
}

/// Module, file, and lines and columns.
fn place(span: &Value) -> Option<(String, String, [u64; 4])> {
    let (module, file) = span["file_name"].as_str()?.split_once('/')?;
    let at = ["line_start", "column_start", "line_end", "column_end"];
    Some((
        module.to_owned(),
        file.to_owned(),
        at.map(|it| span[it].as_u64().unwrap()),
    ))
}

/// All lints of a compiler. Those about `Cargo.toml` have none.
fn lints(compiler: &str) -> Vec<String> {
    let output = tool("", compiler).args(["-W", "help"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lints = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(lint), Some("allow" | "warn" | "deny")) = (words.next(), words.next())
            && !CARGO.contains(&lint)
        {
            lints.push(lint.to_owned());
        }
    }
    assert!(lints.len() > 150, "{text}");
    lints
}

const CARGO: [&str; 6] = [
    "clippy::cargo-common-metadata",
    "clippy::lint-groups-priority",
    "clippy::multiple-crate-versions",
    "clippy::negative-feature-names",
    "clippy::redundant-feature-names",
    "clippy::wildcard-dependencies",
];
