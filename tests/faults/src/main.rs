//! Puts one fault at a time into the code, and says which test finds it. Exits with 1 if no test finds one of them.
//!
//! ```text
//! tests/faults/run                  all faults
//! tests/faults/run NAME…            those with this in their id, file or rule, or in the tests that find them
//! tests/faults/run --all-tests …    runs all tests that are named for a fault, and lists each one that finds it
//! ```
//!
//! The `*.toml` beside this package list the faults. Each is a small patch, one text of a file for another, so that it
//! follows code that moves inside its file; `cargo test -p auto-mutex-faults` fails if a text is gone. It names the
//! rule that it breaks, and the tests that should find it, the fastest first. If they find nothing, for example because
//! they were removed, those in `then` of its file are tried.
//!
//! A program is built once for all faults, when it is first needed: a copy of the repository in `target/faults` has
//! each fault beside what it replaces, and `AUTO_MUTEX_FAULT` chooses at run time. The product itself knows nothing of
//! this. The attributes run while a program is compiled, so programs that test their expansions are compiled again for
//! each fault.
//!
//! The faults of Lua and SQL are those of `tests/difference/seeded.rs` in both packages, which exchange a text of the
//! script.

mod list;
mod programs;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use list::{Area, Fault};
use programs::{Found, NAMED, Programs, WHOLE};

fn main() -> ExitCode {
    let args = std::env::args().skip(1);
    let (options, names): (Vec<_>, Vec<_>) = args.partition(|arg| arg.starts_with("--"));
    let all_tests = options.iter().any(|option| option == "--all-tests");
    let programs = Programs::of(tree::make(&root(), &list::read(&root(), &[])));

    let (mut total, mut missed) = (0, Vec::new());
    // By program, and whether it is compiled for each fault.
    let mut finders = BTreeMap::<(String, bool), BTreeSet<String>>::new();
    for area in list::read(&root(), &names) {
        for fault in &area.fault {
            let began = Instant::now();
            let found = find(&programs, &area, fault, all_tests);
            let took = began.elapsed().as_secs();
            for Found { program, test, .. } in &found {
                let is_named = fault.found.iter().any(|named| {
                    let mut words = named.split(' ');
                    words.next() == Some(program) && words.any(|part| test.contains(part))
                });
                let note = if is_named { "" } else { " (not named for it)" };
                println!("found  {} by {program} {test}{note}, {took} s", fault.id);
            }
            if found.is_empty() {
                println!("MISSED {} ({}), {took} s", fault.id, fault.breaks);
                missed.push(fault.id.clone());
            }
            for Found {
                program,
                rebuilt,
                test,
            } in found
            {
                finders.entry((program, rebuilt)).or_default().insert(test);
            }
            total += 1;
        }
        for table in &area.table {
            let rows = programs.table(&table.test);
            if rows.is_empty() {
                missed.push(format!("{}: {} tells nothing", table.id, table.test));
            }
            for (what, is_found) in rows {
                let word = if is_found { "found " } else { "MISSED" };
                println!("{word} {}: {what}", table.id);
                total += 1;
                missed.extend((!is_found).then(|| format!("{}: {what}", table.id)));
            }
        }
    }
    // A test that fails without a fault as well has found nothing.
    for ((program, rebuilt), tests) in &finders {
        for test in programs.failing(program, *rebuilt, tests) {
            println!("FAILS WITHOUT A FAULT: {program} {test}");
            missed.push(format!("whatever {program} {test} has found"));
        }
    }
    println!("{total} faults, missed: {}", missed.len());
    missed.iter().for_each(|id| println!("missed: {id}"));
    ExitCode::from(u8::from(!missed.is_empty()))
}

/// Returns the first test that finds the fault, or all.
fn find(programs: &Programs, area: &Area, fault: &Fault, all_tests: bool) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let named = fault.found.iter().map(|tests| (tests, NAMED));
    for (tests, limit) in named.chain(area.then.iter().map(|tests| (tests, WHOLE))) {
        let more = programs.run(tests, (&fault.id, area.compiled), limit, all_tests);
        let is_new = |one: &Found| found.iter().all(|other| other.test != one.test);
        let more: Vec<_> = more.into_iter().filter(is_new).collect();
        found.extend(more);
        if !all_tests && !found.is_empty() {
            break;
        }
    }
    found
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the repository")
}

#[test]
fn each_fault_has_its_place_in_the_code() {
    for (file, faults) in Area::by_file(&list::read(&root(), &[])) {
        tree::switched(&root().join(file), &faults);
    }
}
