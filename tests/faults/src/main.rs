//! Puts one fault at a time into the code, and says which test finds it. Exits with 1 if a fault is found by none.
//!
//! ```text
//! tests/faults/run                  all faults
//! tests/faults/run NAME…            those with this in their id, their file or the rule that they break
//! tests/faults/run --all-tests …    runs all tests that are named for a fault, and lists each one that finds it
//! ```
//!
//! `*.toml` beside this package lists the faults. Each is a small patch, one text of a file for another, so that it follows code
//! that moves inside its file; `cargo test -p auto-mutex-faults` fails if a text is gone. It names the rule that it breaks, and the
//! tests that should find it, the fastest first. If they find nothing, for example because they were removed, those in `then`
//! of its file are tried.
//!
//! A program is built once for all faults, when it is first needed: a copy of the repository in `target/faults` has each fault beside what it replaces, and
//! `AUTO_MUTEX_FAULT` chooses at run time. The product itself knows nothing of this. The attributes run while a program is compiled,
//! so tests of their expansions are compiled again for each fault.
//!
//! The faults of Lua and SQL are those of `tests/difference/seeded.rs` in both packages, which exchange a text of the script.

mod list;
mod programs;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use list::{Area, Fault, Table};
use programs::{Detector, Programs};

/// Tests that failed with a fault, by program, and whether the program is compiled for each fault.
type Finders = BTreeMap<(String, bool), BTreeSet<String>>;

fn main() -> ExitCode {
    let (options, names): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|arg| arg.starts_with("--"));
    let all_tests = options.iter().any(|option| option == "--all-tests");
    let root = root();
    let areas = list::read(&root, &names);
    let tree = tree::make(&root, &list::read(&root, &[]));
    let programs = Programs::of(&tree);

    let (mut total, mut missed) = (0, Vec::new());
    let mut finders = Finders::new();
    for area in &areas {
        for fault in &area.fault {
            let began = Instant::now();
            let found = find(&programs, area, fault, all_tests);
            let took = began.elapsed().as_secs_f32();
            if found.is_empty() {
                missed.push(fault.id.clone());
                println!("MISSED {} ({took:.1} s): {}", fault.id, fault.breaks);
            }
            for ((program, rebuilt), test, known) in found {
                let note = if known {
                    ""
                } else {
                    ", which is not named for it"
                };
                println!(
                    "found  {} ({took:.1} s) by {program} {test}{note}",
                    fault.id
                );
                finders.entry((program, rebuilt)).or_default().insert(test);
            }
            total += 1;
        }
        for table in &area.table {
            let (found, lost) = try_table(&programs, table);
            total += found + lost.len();
            missed.extend(lost);
        }
    }
    // A test that fails without a fault as well has found nothing.
    let mut broken = Vec::new();
    for ((program, rebuild), tests) in &finders {
        broken.extend(programs.failing(program, *rebuild, tests));
    }
    for test in &broken {
        println!("FAILS WITHOUT A FAULT {test}");
    }
    println!("{} of {total} faults found", total - missed.len());
    for id in &missed {
        println!("missed: {id}");
    }
    ExitCode::from(u8::from(!missed.is_empty() || !broken.is_empty()))
}

/// Returns the tests that find a fault, each with its program and whether the fault names it: the first one, or all.
fn find(
    programs: &Programs,
    area: &Area,
    fault: &Fault,
    all: bool,
) -> Vec<((String, bool), String, bool)> {
    let mut found = Vec::new();
    let named = fault.found.iter().map(|text| (text, true));
    for (text, known) in named.chain(area.then.iter().map(|text| (text, false))) {
        let detector = Detector::parse(text);
        let rebuild = area.compiled && !detector.is_library();
        for test in programs
            .run(&detector, Some(&fault.id), rebuild, all)
            .failed
        {
            if found.iter().all(|(_, other, _)| *other != test) {
                found.push(((detector.program.clone(), rebuild), test, known));
            }
        }
        if !all && !found.is_empty() {
            break;
        }
    }
    found
}

/// Runs a test that has faults of its own, and reports each one with a line `WHAT: run Some(…)` or `WHAT: run None`.
fn try_table(programs: &Programs, table: &Table) -> (usize, Vec<String>) {
    let detector = Detector::parse(&format!("{} --nocapture", table.test));
    let (mut found, mut missed) = (0, Vec::new());
    for line in programs.run(&detector, None, false, true).output.lines() {
        let Some((what, result)) = line.split_once(": run ") else {
            continue;
        };
        if result.starts_with("Some") {
            println!("found  {}: {what}", table.id);
            found += 1;
        } else {
            println!("MISSED {}: {what}", table.id);
            missed.push(format!("{}: {what}", table.id));
        }
    }
    if found == 0 {
        missed.push(format!("{}: {} reports no fault", table.id, table.test));
    }
    (found, missed)
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the repository")
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_fault_has_its_place_in_the_code() {
        let root = super::root();
        for area in super::list::read(&root, &[]) {
            for (file, faults) in area.by_file() {
                super::tree::switched(&root.join(file), &faults).unwrap();
            }
        }
    }
}
