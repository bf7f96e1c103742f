//! Each sample of the pages compiles as a reader pastes it, without a warning; `build.rs` makes a module of each. Here
//! their programs run, their tests too, and what is not Rust is checked.

// What a sample leaves to the reader.
#![allow(clippy::todo)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::LazyLock;
use std::{env, fs};

use auto_mutex_tests::events::{eventually, finishes};
use auto_mutex_tests::process;
use auto_mutex_tests::redis::Redis;

include!(concat!(env!("OUT_DIR"), "/samples.rs"));

/// A sample that compiles.
struct Sample {
    page: &'static str,
    /// The line of its opening fence.
    line: usize,
    runs: bool,
    panics: bool,
    /// Its `main`.
    run: fn() -> ExitCode,
}

/// The test's own server, in place of the `redis://127.0.0.1:6379` of a sample. A macro, so that the text stays a
/// `&'static str`.
macro_rules! server {
    ($rest:literal) => {
        &*String::leak(format!("{}{}", *crate::SERVER, $rest))
    };
}
pub(crate) use server;

static SERVER: LazyLock<String> = LazyLock::new(|| env::var("AUTO_MUTEX_URL").expect("a server"));

/// Names the sample that a process of this program runs.
const SAMPLE: &str = "AUTO_MUTEX_SAMPLE";

/// Programs that only compile here.
const NOT_RUN: [(&str, &str); 1] = [("runtime/src/guide/managed_redis.md", "for _ in 0..600")];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.unwrap().to_owned()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

struct Fence {
    line: usize,
    info: String,
    text: String,
}

/// The blocks of code of a page.
fn fences(page: &str) -> Vec<Fence> {
    let (mut fences, mut inside) = (Vec::<Fence>::new(), false);
    for (index, line) in read(page).lines().enumerate() {
        let line = line.trim_start();
        let doc = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        if page.ends_with(".rs") && doc.is_none() {
            continue;
        }
        let line = doc.unwrap_or(line).trim_start();
        match (line.strip_prefix("```"), inside) {
            (Some(_), true) => inside = false,
            (Some(info), false) => {
                inside = true;
                fences.push(Fence {
                    line: index + 1,
                    info: info.to_owned(),
                    text: String::new(),
                });
            }
            (None, true) => fences.last_mut().unwrap().text += &format!("{line}\n"),
            (None, false) => {}
        }
    }
    fences
}

fn name(page: &str, line: usize) -> String {
    format!("{page}:{line}")
}

#[test]
fn programs_run() {
    let redis = Redis::start();
    let (mut ran, mut failed) = (0, String::new());
    for sample in SAMPLES.iter().filter(|sample| sample.runs) {
        let text = fences(sample.page)
            .into_iter()
            .find(|it| it.line == sample.line)
            .unwrap()
            .text;
        if NOT_RUN
            .iter()
            .any(|(page, part)| *page == sample.page && text.contains(part))
        {
            continue;
        }
        ran += 1;
        let place = name(sample.page, sample.line);
        let program = Command::new(env::current_exe().unwrap())
            .args(["--ignored", "--exact", "a_program", "--nocapture"])
            .env(SAMPLE, &place)
            .env("AUTO_MUTEX_URL", redis.url())
            .env("AUTO_MUTEX_NAMESPACE", "samples")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = program.id();
        // A program that waits for SIGTERM gets it, once it works.
        if text.contains("SignalKind::terminate()") {
            eventually(&place, || redis.clients() > 0);
            process::terminate(pid);
        }
        let output = finishes(&place, move || program.wait_with_output().unwrap());
        if output.status.success() == sample.panics {
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said).into_owned();
            failed += &format!("{place}\n{said}\n");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
    assert!(ran > 10, "{ran} programs: are the pages read at all?");
}

/// One of them, in a process of its own.
#[test]
#[ignore = "programs_run runs it"]
fn a_program() {
    let wanted = env::var(SAMPLE).unwrap_or_default();
    let found = SAMPLES
        .iter()
        .find(|it| it.runs && name(it.page, it.line) == wanted);
    if let Some(sample) = found {
        assert!((sample.run)() == ExitCode::SUCCESS, "{wanted} failed");
    }
}

/// In a program of its own, such a sample compares the whole list.
#[test]
fn lists_of_locks_are_those_of_their_samples() {
    let sites: BTreeSet<_> = auto_mutex::sites()
        .iter()
        .map(ToString::to_string)
        .collect();
    let mut seen = 0;
    for page in PAGES {
        for fence in fences(page) {
            let list = fence.text.split_once("LOCKS: &str = r#\"\n");
            for line in list.iter().flat_map(|(_, list)| list.lines()) {
                if line == "\"#;" {
                    break;
                }
                let place = name(page, fence.line);
                assert!(sites.contains(line), "{place}: no function has: {line}");
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "no list: are the pages read at all?");
}

#[test]
fn programs_that_do_not_run_are_there() {
    for (page, part) in NOT_RUN {
        let found = fences(page).iter().any(|it| it.text.contains(part));
        assert!(found, "{page}: {part}");
    }
}

/// The features of the package in a folder.
fn features(folder: &str) -> BTreeSet<String> {
    let manifest = read(&format!("{folder}/Cargo.toml"));
    let manifest: toml::Table = manifest.parse().unwrap();
    manifest["features"]
        .as_table()
        .unwrap()
        .keys()
        .cloned()
        .collect()
}

#[test]
fn manifests_parse_and_name_features_that_exist() {
    let (features, mut seen) = (features("runtime"), 0);
    for page in PAGES {
        for fence in fences(page).iter().filter(|it| it.info == "toml") {
            let place = name(page, fence.line);
            let table: toml::Table = fence
                .text
                .parse()
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            let dependencies = table
                .get("dependencies")
                .map_or(&table, |it| it.as_table().unwrap());
            let named = dependencies
                .get("auto-mutex")
                .and_then(|it| it.get("features")?.as_array());
            for feature in named.into_iter().flatten() {
                let feature = feature.as_str().unwrap();
                assert!(
                    features.contains(feature),
                    "{place}: there is no feature {feature}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "no manifest: are the pages read at all?");
}

#[test]
fn commands_for_cargo_name_packages_and_features_that_exist() {
    let packages = [("auto-mutex", "runtime"), ("auto-mutex-fence", "fence")];
    let mut seen = 0;
    for page in PAGES {
        for (index, line) in read(page).lines().enumerate() {
            let place = name(page, index + 1);
            for (_, rest) in line
                .match_indices("cargo add ")
                .map(|(at, it)| line.split_at(at + it.len()))
            {
                let command = rest.split(['`', '#']).next().unwrap();
                let mut words = command.split_whitespace();
                let package = words.next().unwrap_or_default();
                if !package.starts_with("auto-mutex") {
                    continue;
                }
                let folder = packages.iter().find(|(name, _)| *name == package);
                let (_, folder) = folder.unwrap_or_else(|| panic!("{place}: {package}"));
                let features = features(folder);
                while let Some(word) = words.next() {
                    if matches!(word, "--features" | "-F") {
                        for feature in words.next().unwrap().split(',') {
                            assert!(
                                features.contains(feature),
                                "{place}: there is no feature {feature}"
                            );
                            seen += 1;
                        }
                    }
                }
            }
            if let Some((_, rest)) = line.split_once("cargo install auto-mutex") {
                let package = rest
                    .split(|c: char| !c.is_alphanumeric() && c != '-')
                    .next()
                    .unwrap();
                assert_eq!(package, "-cli", "{place}: nothing else is to install");
            }
        }
    }
    assert!(seen > 2, "{seen} features: are the pages read at all?");
}
