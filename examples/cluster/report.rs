//! The counts at the end, and the exit code.

use std::process::ExitCode;

use crate::history::History;
use crate::plan::{Fate, Protection};

/// Prints the counts; returns the exit code.
pub(crate) fn print(history: &History, protection: Protection) -> ExitCode {
    let visits = || history.workers.iter().flat_map(|record| &record.visits);
    let entered = visits().filter(|visit| visit.entered.is_some()).count();
    let finished = visits().filter(|visit| visit.left.is_some()).count();
    let overlaps = history.overlaps();
    let mut faults = history.failures.clone();
    let (across_the_end, take_over) = match history.fate {
        Fate::Killed => (", across the kill", "from kill to take-over      "),
        Fate::Abandoned => (", across the abandonment", "abandoned to take-over      "),
    };

    println!("calls                       {entered} entered, {finished} finished");
    println!("overlaps seen by witness    {overlaps}");
    if overlaps > 0 {
        faults.push(format!("{overlaps} overlaps"));
    }
    if protection == Protection::Lock {
        if let Some((worker, waited, across)) = history.longest_wait() {
            println!(
                "longest wait                {:.2} s, by worker {}{}",
                waited.as_secs_f64(),
                worker + 1,
                if across { across_the_end } else { "" }
            );
        }
        match &history.kill {
            Some(kill) if !kill.inside => {
                faults.push(format!("the {} worker was not inside", history.fate.word()));
            }
            Some(_) => {}
            None => faults.push(format!("nobody was {}", history.fate.word())),
        }
        match history.take_over() {
            Some((_, after)) => {
                println!("{take_over}{:.2} s", after.as_secs_f64());
            }
            None => faults.push("nobody took over".to_owned()),
        }
        let grow = history.tokens_grow();
        println!(
            "fencing tokens              {}",
            if grow {
                "each greater than the one before"
            } else {
                "NOT growing"
            }
        );
        if !grow {
            faults.push("fencing tokens did not grow".to_owned());
        }
    }

    if faults.is_empty() {
        println!("\nresult: one at a time");
        ExitCode::SUCCESS
    } else {
        println!("\nresult: FAILED: {}", faults.join("; "));
        ExitCode::FAILURE
    }
}
