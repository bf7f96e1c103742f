//! Figures of the standard limits. `explorer/` visits every state of terms and seats.

use alloc::vec::Vec;
use core::time::Duration;

use super::{
    Effect, Failed, Input, Options, Refused, Rules, Seat, Seen, Term, ends_lead, looks_at,
};
use crate::{Instant, LIMITS, LossCause};

const LEASE: Duration = Duration::from_secs(10);

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn rules(stop_within: u64, aborts: bool) -> Result<Rules, Refused> {
    let options = Options {
        stop_within: Some(Duration::from_millis(stop_within)),
        progress: None,
        aborts,
    };
    Rules::new(options, LEASE, &LIMITS)
}

#[test]
fn a_body_gets_some_time_to_end_and_the_lease_the_rest() {
    assert_eq!(rules(5_001, false), Err(Refused::StopsTooLate));
    assert_eq!(rules(99, true), Err(Refused::StopsTooSoon));
    assert!(rules(99, false).is_ok() && rules(100, true).is_ok());
    let usual = Rules::new(Options::default(), LEASE, &LIMITS);
    assert_eq!(usual, rules(2_000, false));
    assert_eq!(usual.unwrap().tells_at(at(9_000)), at(7_000));
    assert_eq!(rules(2_000, true).unwrap().tells_at(at(9_000)), at(6_500));
}

/// The time to end is over a little earlier if the process then has to be aborted.
#[test]
fn the_end_of_a_body_is_not_after_that_of_the_validity() {
    let (logs, aborts) = (rules(2_000, false).unwrap(), rules(2_000, true).unwrap());
    assert_eq!(logs.stops_at(at(9_000), at(3_000)), at(5_000));
    assert_eq!(logs.stops_at(at(9_000), at(8_500)), at(9_000));
    assert_eq!(aborts.stops_at(at(9_000), at(3_000)), at(4_980));
    assert_eq!(aborts.stops_at(at(9_000), at(8_000)), at(8_480));
}

#[test]
fn the_first_cause_counts_and_what_is_over_stays_over() {
    let mut term = Term::new(rules(2_000, false).unwrap());
    let mut seen = Seen {
        now: at(1_000),
        lost: None,
        valid: at(9_000),
        stalls: Instant::NEVER,
    };
    let mut effects = Vec::new();
    let mut on = |input, seen: &Seen| (term.on(input, seen, &mut effects), effects.clone());
    assert_eq!(on(Input::Look, &seen), (at(7_000), Vec::new()));
    let told = Vec::from([Effect::Tell(LossCause::Released)]);
    let tell = Input::Tell(LossCause::Released);
    assert_eq!(on(tell, &seen), (at(3_000), told.clone()));
    seen.lost = Some(LossCause::Forced);
    assert_eq!(on(Input::Look, &seen), (at(3_000), told.clone()));
    (seen.now, seen.valid, seen.lost) = (at(2_999), at(12_000), None);
    assert_eq!(on(Input::Look, &seen), (at(3_000), told.clone()));
    assert_eq!(on(Input::Ended, &seen), (Instant::NEVER, told.clone()));
    seen.now = at(4_000);
    assert_eq!(on(Input::Look, &seen), (Instant::NEVER, told));
}

#[test]
fn pauses_double_until_they_are_long_enough() {
    let mut seat = Seat::default();
    let mut pause = |why| seat.failed(why, &LIMITS).map(|pause| pause.as_millis());
    for millis in [250, 500, 1_000, 2_000, 4_000, 4_000] {
        assert_eq!(pause(Failed::Unavailable), Some(millis));
    }
    assert_eq!(pause(Failed::Lost), Some(4_000));
    assert_eq!(pause(Failed::ForGood), None);
}

#[test]
fn an_error_ends_the_lead_only_while_it_leads() {
    for (returned, leads, ends) in [
        (Some(true), true, true),
        (Some(true), false, true),
        (Some(false), true, true),
        (Some(false), false, false),
        (None, false, false),
    ] {
        assert_eq!(ends_lead(returned, leads), ends, "{returned:?} {leads}");
    }
}

#[test]
fn who_watches_looks_when_a_silent_leader_must_be_dead() {
    let left = Some(Duration::from_secs(1));
    let looks = |left, told| looks_at(left, told, at(1_000), &LIMITS);
    assert_eq!(looks(left, false), at(2_012));
    assert_eq!(looks(left, true), at(1_100));
    assert_eq!(looks(None, false), Instant::NEVER);
    assert_eq!(looks(None, true), at(1_100));
}
