//! Tries every fault on every kind of lock, in parallel.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use auto_mutex_tests::seed::Seed;

use crate::faults::{self, Fault};
use crate::field::Field;
use crate::judge::{Judgement, every_key_ends, judge};
use crate::locks::Lock;
use crate::recovery::{Recovery, recover, settle};

/// A fault that has not happened so many times in a row is over. The longest reply may have been several that came together, so no other
/// one has as many bytes to cut.
const MOST_MISSES: u32 = 10;

/// The result of one fault on one lock.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) fault: &'static str,
    pub(crate) lock: &'static str,
    /// Whether two clients may both have a valid guard under this fault: see `Fault::is_fenced_only`.
    pub(crate) fenced_only: bool,
    /// Why the fault could not be tried, if so.
    pub(crate) skipped: Option<String>,
    pub(crate) recoveries: Vec<Recovery>,
    pub(crate) judgement: Judgement,
}

impl Cell {
    pub(crate) fn is_wrong(&self) -> bool {
        !self.judgement.violations.is_empty()
    }
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Whether `AUTO_MUTEX_CHAOS_ONLY` selects this combination. Without it, the short form of a single round tries some faults on
/// one lock only, or not at all.
fn is_wanted(fault: &dyn Fault, lock: Lock, rounds: usize) -> bool {
    let only = std::env::var("AUTO_MUTEX_CHAOS_ONLY").unwrap_or_default();
    if lock.is_narrow() && !fault.harms_keepers() {
        return false;
    }
    if let (1, true, Some(sample)) = (rounds, only.is_empty(), fault.sample()) {
        return lock.name == sample;
    }
    let name = format!("{}/{}", fault.name(), lock.name);
    only.split(',').any(|word| name.contains(word))
}

/// Tries all combinations that are selected.
pub(crate) fn run(seed: &mut Seed) -> Vec<Cell> {
    let rounds = number("AUTO_MUTEX_CHAOS_ROUNDS").unwrap_or(2);
    let threads = number("AUTO_MUTEX_CHAOS_THREADS")
        .unwrap_or_else(|| 3 * thread::available_parallelism().map_or(2, usize::from));
    // The random choices of a cell do not depend on which cells are selected.
    let base = seed.below(u64::MAX);
    let faults = faults::all();
    let cells = faults.iter().flat_map(|fault| {
        let fault: &dyn Fault = fault.as_ref();
        Lock::ALL.iter().map(move |&lock| (fault, lock))
    });
    let cells = cells.enumerate().map(|(number, (fault, lock))| {
        let seed = Seed::new(base.wrapping_add(number as u64));
        (number, fault, lock, seed)
    });
    let wanted = cells.filter(|(_, fault, lock, _)| is_wanted(*fault, *lock, rounds));
    let waiting = Mutex::new(wanted.collect::<VecDeque<_>>());
    let tried = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let mut queue = waiting.lock().unwrap_or_else(PoisonError::into_inner);
                    let Some((number, fault, lock, seed)) = queue.pop_front() else {
                        return;
                    };
                    drop(queue);
                    let cell = try_one(fault, lock, seed, rounds);
                    let mut tried = tried.lock().unwrap_or_else(PoisonError::into_inner);
                    tried.push((number, cell));
                }
            });
        }
    });
    let mut tried = tried.into_inner().unwrap_or_else(PoisonError::into_inner);
    tried.sort_by_key(|(number, _)| *number);
    tried.into_iter().map(|(_, cell)| cell).collect()
}

fn try_one(fault: &dyn Fault, lock: Lock, seed: Seed, rounds: usize) -> Cell {
    let begun = Instant::now();
    let mut cell = Cell {
        fault: fault.name(),
        lock: lock.name,
        fenced_only: fault.is_fenced_only(),
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

fn contest(fault: &dyn Fault, lock: Lock, seed: Seed, rounds: usize, cell: &mut Cell) {
    let needs = match fault.needs() {
        Ok(needs) => needs,
        Err(why) => {
            cell.skipped = Some(why);
            return;
        }
    };
    let mut field = Field::open(lock, needs, seed);
    settle(&mut field);
    let mut misses = 0;
    for round in 0..fault.rounds(&mut field, rounds) {
        let Some(struck) = fault.strike(&mut field, round) else {
            misses += 1;
            if misses == MOST_MISSES {
                break;
            }
            continue;
        };
        misses = 0;
        let recovery = recover(&mut field, struck.since, &struck.alive);
        cell.recoveries.push(recovery);
        fault.mend(&mut field);
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
