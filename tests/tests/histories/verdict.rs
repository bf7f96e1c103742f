//! The check of a history.

use std::collections::BTreeMap;
use std::time::Instant;

use auto_mutex_tests::history::{
    Lock, Register, Span, Step, Violation, check, holds, minimal, read, shown, updates,
};

use crate::field::Field;

/// Asserts that an order of events explains the history that the processes recorded.
pub(crate) fn is_explained(field: &mut Field) {
    field.close();
    let tasks = read(&field.file());
    let begun = Instant::now();
    let (mut operations, mut unknown) = (0, 0);
    for (name, (lock, history)) in holds(&tasks) {
        operations += history.len();
        unknown += history.iter().filter(|span| span.to.is_none()).count();
        if let Some(text) = fault(&lock, &history) {
            panic!("no order explains {name}:\n{text}{}", again(field));
        }
    }
    let mut writes = 0;
    for (name, history) in updates(&tasks) {
        writes += history.len();
        unknown += history.iter().filter(|span| span.to.is_none()).count();
        if let Err(violation) = check(&Register, &history) {
            let text = shown::<Register>(&history, &violation);
            panic!(
                "no order explains the register of {name}:\n{text}{}",
                again(field)
            );
        }
    }
    println!(
        "{}: {} tasks, {operations} steps of holds and {writes} of the register, {unknown} of unknown end, checked in {:?}; {:?}",
        field.plan.test,
        tasks.len(),
        begun.elapsed(),
        counted(&field.faults),
    );
    assert!(operations > 0, "nobody ever held it");
}

/// A short description of what is wrong with the history of a lock; `None` if nothing is.
pub(crate) fn fault(lock: &Lock, history: &[Span<Step>]) -> Option<String> {
    check(lock, history).err()?;
    let least = minimal(lock, history);
    let violation: Violation = check(lock, &least).expect_err("still wrong");
    Some(shown::<Lock>(&least, &violation))
}

fn again(field: &Field) -> String {
    let seconds = field.plan.duration.as_secs();
    format!(
        "The seed is printed above, for the same faults; perhaps not the same history:\nAUTO_MUTEX_SEED=… \
         AUTO_MUTEX_HISTORY_SECONDS={seconds} cargo test -p auto-mutex-tests --test histories {}\n{:?}",
        field.plan.test, field.faults
    )
}

fn counted(faults: &[&'static str]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for fault in faults {
        *counts.entry(*fault).or_default() += 1;
    }
    counts
}
