//! The promises that must hold, whatever the fault.
//!
//! - The witness never sees more valid guards at the same time than the lock allows, and tokens grow. If a fault
//!   deletes the store's data or sets its clock forward, this does not hold until the leases have ended: see
//!   `Field::excuse`.
//! - The fenced registers never accept a stale write.
//! - Every process gets turns again: `recovery.rs` waits for this.
//! - Nothing is left: there is never a key of Redis without a TTL, and after the contest no holder, waiter or member.

use auto_mutex_tests::belt::Ledger;
use auto_mutex_tests::events::eventually_within;

use crate::field::Field;
use crate::recovery::NEVER;
use crate::server::Server;

/// The result of a contest.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    /// Events that must never happen.
    pub(crate) violations: Vec<String>,
    /// The number of events that a fault excuses.
    pub(crate) excused: usize,
}

/// Judges a contest that is over.
pub(crate) fn judge(field: &mut Field) -> Judgement {
    field.listen();
    let mut judgement = Judgement::default();
    for line in &field.said {
        if line.starts_with("violation") || line.starts_with("failed") {
            match is_excused(field, line) {
                true => judgement.excused += 1,
                false => {
                    judgement.violations.push(line.clone());
                    if let Some(at) = time_of(line) {
                        println!("{line}\n{:#?}", field.witness.around(at));
                    }
                }
            }
        }
    }
    let (seen, all) = (
        field.witness.verdict_outside(&field.excused),
        field.witness.verdict(),
    );
    let faults = seen.overlaps.iter().chain(&seen.token_faults);
    judgement.violations.extend(faults.cloned());
    judgement.violations.extend(all.stale_taken.clone());
    let excused = |all: &[String], seen: &[String]| all.len().saturating_sub(seen.len());
    judgement.excused += excused(&all.overlaps, &seen.overlaps);
    judgement.excused += excused(&all.token_faults, &seen.token_faults);
    if field.lock.is_belt() {
        let ledger = Ledger::at(field.witness.port());
        judgement.violations.extend(ledger.faults);
        if ledger.put != ledger.taken {
            let left = format!("{} items put, {} taken", ledger.put, ledger.taken);
            judgement.violations.push(left);
        }
    } else if all.proven == 0 {
        judgement.violations.push("no evidence at all".to_owned());
    }
    nothing_is_left(field);
    judgement
}

/// Whether `line` reports that a register refused a holder while that is excused.
fn is_excused(field: &Field, line: &str) -> bool {
    let at = time_of(line);
    at.is_some_and(|at| field.excused.iter().any(|span| span.contains(&at)))
}

/// The time that `line` contains, if any.
fn time_of(line: &str) -> Option<u64> {
    line.rsplit_once(", at ")
        .and_then(|(_, at)| at.parse().ok())
}

/// Asserts that every key has a TTL, which must be true at any time.
pub(crate) fn every_key_ends(field: &Field) {
    if let Server::Redis(redis) = &field.server {
        assert_eq!(redis.keys_without_ttl(), [], "keys that would stay");
    }
}

/// After all tasks have left: asserts that every key has a TTL, and that no member, holder or waiter is left.
fn nothing_is_left(field: &Field) {
    every_key_ends(field);
    let server = &field.server;
    eventually_within(NEVER, "no member is there", || server.members() == 0);
    eventually_within(NEVER, "nobody holds or waits", || {
        server.held() == 0 && server.waiting() == 0
    });
}
