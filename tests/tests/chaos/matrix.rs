//! Tries faults on kinds of locks, in parallel.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use auto_mutex_tests::seed::Seed;

use crate::faults::Fault;
use crate::field::Field;
use crate::judge::{Judgement, every_key_ends, judge};
use crate::locks::Lock;
use crate::recovery::{Recovery, recover, settle};
use crate::table;

/// A fault that has not happened so many times in a row is over. The longest reply may have been several that came
/// together, so no other one has as many bytes to cut.
const MOST_MISSES: u32 = 10;

/// The result of one fault on one lock.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) fault: String,
    pub(crate) lock: &'static str,
    /// Why the fault could not be tried, if so.
    pub(crate) skipped: Option<String>,
    pub(crate) recoveries: Vec<Recovery>,
    pub(crate) judgement: Judgement,
}

/// `AUTO_MUTEX_CHAOS_ROUNDS`; `None` for the short form.
pub(crate) fn rounds() -> Option<usize> {
    std::env::var("AUTO_MUTEX_CHAOS_ROUNDS").ok()?.parse().ok()
}

/// The locks on which `fault` is tried.
fn locks(fault: &Fault, seed: &mut Seed) -> Vec<Lock> {
    let only = std::env::var("AUTO_MUTEX_CHAOS_ONLY").unwrap_or_default();
    let is_wanted = |lock: &Lock| {
        let name = format!("{}/{}", fault.name, lock.name);
        (fault.harms_keepers || !lock.is_narrow()) && only.split(',').any(|it| name.contains(it))
    };
    let mut locks: Vec<_> = Lock::ALL.iter().copied().filter(is_wanted).collect();
    if rounds().is_none() && only.is_empty() {
        while locks.len() > fault.samples {
            locks.swap_remove(seed.below(locks.len() as u64) as usize);
        }
    }
    locks
}

/// Tries all combinations that are selected, and prints their table.
pub(crate) fn survive(test: &str, faults: Vec<Fault>) {
    let mut seed = Seed::announce(test);
    let mut waiting = Vec::new();
    for fault in &faults {
        for lock in locks(fault, &mut seed) {
            waiting.push((fault, lock, Seed::new(seed.below(u64::MAX))));
        }
    }
    let threads = 3 * thread::available_parallelism().map_or(2, usize::from);
    let (waiting, tried) = (Mutex::new(waiting), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((fault, lock, seed)) = next() {
                    let cell = try_one(fault, lock, seed, rounds().unwrap_or(1));
                    let mut tried = tried.lock().unwrap_or_else(PoisonError::into_inner);
                    tried.push(cell);
                }
            });
        }
    });
    let cells = tried.into_inner().unwrap_or_else(PoisonError::into_inner);
    let table = table::markdown(&faults, &cells);
    println!("{table}");
    if let Ok(file) = std::env::var("AUTO_MUTEX_CHAOS_TABLE") {
        let file = OpenOptions::new().create(true).append(true).open(file);
        file.and_then(|mut file| file.write_all(table.as_bytes()))
            .expect("the table is written");
    }
    let wrong: Vec<_> = cells
        .iter()
        .filter(|it| !it.judgement.violations.is_empty())
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn try_one(fault: &Fault, lock: Lock, seed: Seed, rounds: usize) -> Cell {
    let begun = Instant::now();
    let mut cell = Cell {
        fault: fault.name.clone(),
        lock: lock.name,
        skipped: None,
        recoveries: Vec::new(),
        judgement: Judgement::default(),
    };
    let contest = AssertUnwindSafe(|| contest(fault, lock, seed, rounds, &mut cell));
    if let Err(panic) = catch_unwind(contest) {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        let text = text.unwrap_or_else(|| "a panic".to_owned());
        cell.judgement.violations.push(text);
    }
    if let Some(why) = &cell.skipped {
        println!("SKIPPED: {} × {}: {why}", cell.fault, cell.lock);
        return cell;
    }
    println!(
        "{} × {}: {} runs in {:.1?}, {} violations",
        cell.fault,
        cell.lock,
        cell.recoveries.len(),
        begun.elapsed(),
        cell.judgement.violations.len()
    );
    cell
}

fn contest(fault: &Fault, lock: Lock, seed: Seed, rounds: usize, cell: &mut Cell) {
    let needs = match (fault.needs)() {
        Ok(needs) => needs,
        Err(why) => {
            cell.skipped = Some(why);
            return;
        }
    };
    let mut field = Field::open(lock, needs, seed);
    settle(&mut field);
    let mut misses = 0;
    for round in 0..(fault.rounds)(&mut field, rounds) {
        let Some(struck) = (fault.strike)(&mut field, round) else {
            misses += 1;
            if misses == MOST_MISSES {
                break;
            }
            continue;
        };
        misses = 0;
        let recovery = recover(&mut field, struck.since, &struck.alive);
        cell.recoveries.push(recovery);
        (fault.mend)(&mut field);
        if field.alive() != struck.alive {
            settle(&mut field);
        }
        every_key_ends(&field);
    }
    field.close();
    cell.judgement = judge(&mut field);
    if cell.recoveries.is_empty() {
        let violations = &mut cell.judgement.violations;
        violations.push("it never struck".to_owned());
    }
}
