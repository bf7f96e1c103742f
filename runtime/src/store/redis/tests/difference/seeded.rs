//! Scripts with a fault each: the runs find it, most by the judge alone.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::server::Server;
use super::both::Bench;
use super::play;

/// What is wrong, the part of the scripts, what stands there instead, whether the judge sees it without the model, and the
/// run that finds it, which is tried first.
const FAULTS: &[(&str, &str, &str, bool, u64)] = &[
    (
        "a full lock lets one more in",
        "if s.used + r.units <= s.cap then return token",
        "if s.used + r.units <= s.cap + 1 then return token",
        true,
        1,
    ),
    (
        "the short acquire overtakes who waits",
        "local room = waiting == 0 and used + units <= cap",
        "local room = used + units <= cap",
        false,
        6,
    ),
    (
        "a lease is half as long as was said",
        "add_holder(ticket, now + hold * 1000)",
        "add_holder(ticket, now + hold * 500)",
        true,
        1,
    ),
    (
        "a token comes again",
        "local token = max(now, s.tok + 1)",
        "local token = max(now, s.tok)",
        true,
        1,
    ),
    (
        "a release leaves no tombstone",
        "if tomb == '1' then s.rare().bury(ticket) end",
        "",
        false,
        3,
    ),
    (
        "a signal that was used comes back",
        "s.drop_holder(ticket, r.token ~= tonumber(used))",
        "s.drop_holder(ticket, true)",
        true,
        1,
    ),
    (
        "a lease outlives a step back of the clock",
        "s.one_ends = min(s.one_ends, longest(s.one))",
        "",
        true,
        1,
    ),
    (
        "the short touch revives a lease that has ended",
        "now < heard + lease * 1000",
        "true",
        false,
        5,
    ),
    (
        "the short release frees whoever holds",
        "return sub(state, 29, 60) == ticket and not",
        "return not",
        true,
        6,
    ),
    (
        "a grant is claimed while the store is closed",
        "unclaimed = closed and r.flag == 1",
        "unclaimed = false",
        true,
        91,
    ),
    (
        "who takes the store for closed gives back what he may believe in",
        "if unclaimed then return true end",
        "if unclaimed then s.rare().end_lease(ticket, now) unclaimed = false return s.record(ticket) and true end",
        true,
        91,
    ),
    (
        "who takes the store for closed sends back whom another one has granted",
        "if s.due <= now or",
        "if closed and s.one and s.record(s.one).flag == 1 then s.rare().end_lease(s.one, now) end if s.due <= now or",
        true,
        19,
    ),
    (
        "who hands over goes on to hold",
        "s.drop_holder(old)",
        "",
        true,
        6,
    ),
    (
        "a parked ticket is renewed",
        "if not r or r.flag == 2 then return false end",
        "if not r then return false end",
        false,
        7,
    ),
    (
        "a key without an end",
        "redis.call('SET', main, text, 'PX', '1200000')",
        "redis.call('SET', main, text)",
        true,
        5,
    ),
    (
        "places do not end",
        "if ends <= now then s.drop_waiter(ticket) else",
        "if false then s.drop_waiter(ticket) else",
        false,
        1,
    ),
];

/// More than any of them needs.
const RUNS: u64 = 600;

#[test]
fn faults_that_are_put_into_the_scripts_are_found() {
    let server = Server::start();
    let mut table = String::new();
    let mut missed = Vec::new();
    for &(what, part, other, by_judge, known) in FAULTS {
        let [both, judge] = [true, false].map(|model| {
            if !model && !by_judge {
                return None;
            }
            let mut bench = Bench::edited(&server, part, other);
            std::iter::once(known).chain(1..=RUNS).find(|seed| {
                let run = || play::run_beside(model, &mut bench, *seed, &mut HashSet::new());
                catch_unwind(AssertUnwindSafe(run)).is_err()
            })
        });
        table += &format!("{what}: run {both:?}, by the judge alone {judge:?}\n");
        if both.is_none() || by_judge && judge.is_none() {
            missed.push(what);
        }
    }
    println!("{table}");
    assert!(missed.is_empty(), "not found: {missed:?}");
}
