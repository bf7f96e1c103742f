//! A service with sentinels whose primary is repeatedly killed, suspended, cut off or replaced by command. Each fault
//! comes right after a grant that no replica has received.
//!
//! With the guard, there are never two holders, and no request is lost. Tests that are run manually (`--ignored`) show
//! what happens without the guard, and where it cannot help. They report figures and assert nothing.

mod fault;
mod report;
mod round;

use std::thread;
use std::time::Duration;

use auto_mutex_tests::real_time::real_time_for;
use auto_mutex_tests::sentinel::{Service, ServiceOptions};

use fault::Fault;
use report::Report;
use round::Field;

/// The limit for a further round is three times this.
const ROUND: Duration = Duration::from_secs(20);

/// How often each fault happens: `AUTO_MUTEX_FAILOVER_ROUNDS` times, or once.
fn rounds() -> u32 {
    let rounds = std::env::var("AUTO_MUTEX_FAILOVER_ROUNDS").ok();
    rounds.and_then(|rounds| rounds.parse().ok()).unwrap_or(1)
}

/// The precautions of servers and workers against two holders.
#[derive(Clone, Copy, Debug)]
struct Precautions {
    /// The failover guard.
    guard: bool,
    /// `min-replicas-to-write 1`.
    min_replicas: bool,
    /// `Config::replicas(1, …)`.
    wait: bool,
}

/// Runs all faults in parallel, because most of the time is spent waiting.
fn campaign(precautions: Precautions, faults: &[Fault]) -> Vec<Report> {
    let reports: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = faults
            .iter()
            .map(|&fault| scope.spawn(move || one(precautions, fault)))
            .collect();
        all.into_iter()
            .map(|one| one.join().expect("no panic"))
            .collect()
    });
    println!("{precautions:?}\n{}", Report::table(&reports));
    reports
}

fn one(precautions: Precautions, fault: Fault) -> Report {
    let mut options = ServiceOptions::default().proxied();
    if precautions.min_replicas {
        options = options.needing_a_replica();
    }
    let service = Service::with(options);
    let mut report = Report::of(fault);
    for _ in 0..rounds() {
        service.wait_until_whole();
        let outcome = Field::open(&service, precautions).round(fault);
        println!("{precautions:?} {fault:?}: {outcome:?}");
        report.add(outcome);
    }
    report
}

const GUARDED: Precautions = Precautions {
    guard: true,
    min_replicas: true,
    wait: false,
};

fn is_clean(faults: &[Fault]) {
    for report in campaign(GUARDED, faults) {
        report.is_clean();
    }
}

#[test]
fn no_two_hold_across_a_failover() {
    let _watch = real_time_for(rounds() * ROUND);
    is_clean(&[Fault::Kill, Fault::CutOff]);
}

#[test]
fn no_two_hold_after_a_planned_failover_or_a_pause() {
    let _watch = real_time_for(rounds() * ROUND);
    is_clean(&[Fault::Command, Fault::Suspend]);
}

#[test]
#[ignore = "shows what happens without the guard"]
fn without_the_guard() {
    let unguarded = Precautions {
        guard: false,
        min_replicas: false,
        wait: false,
    };
    campaign(unguarded, Fault::ALL);
}

#[test]
#[ignore = "shows where the guard cannot help"]
fn without_min_replicas() {
    let endless = Precautions {
        min_replicas: false,
        ..GUARDED
    };
    campaign(endless, Fault::ALL);
}

#[test]
#[ignore = "shows what waiting for a replica is worth without the guard"]
fn with_replicas_and_without_the_guard() {
    let waiting = Precautions {
        guard: false,
        min_replicas: true,
        wait: true,
    };
    campaign(waiting, Fault::ALL);
}
