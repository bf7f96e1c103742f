//! Scripts with a fault each: the runs find it, most by the judge alone.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::server::Server;
use super::both::Bench;
use super::play;

/// What is wrong, the part of the scripts, what stands there instead, and whether the judge sees it without the model.
const FAULTS: &[(&str, &str, &str, bool)] = &[
    (
        "a full lock lets one more in",
        "if s.used + r.units <= s.cap then return token",
        "if s.used + r.units <= s.cap + 1 then return token",
        true,
    ),
    (
        "the short acquire overtakes who waits",
        "local room = waiting == 0 and used + units <= cap",
        "local room = used + units <= cap",
        false,
    ),
    (
        "a lease is half as long as was said",
        "add_holder(ticket, now + hold * 1000)",
        "add_holder(ticket, now + hold * 500)",
        true,
    ),
    (
        "a token comes again",
        "local token = max(now, s.tok + 1)",
        "local token = max(now, s.tok)",
        true,
    ),
    (
        "a release leaves no tombstone",
        "if tomb == '1' then s.rare().bury(ticket) end",
        "",
        false,
    ),
    (
        "a signal that was used comes back",
        "s.drop_holder(ticket, r.token ~= tonumber(used))",
        "s.drop_holder(ticket, true)",
        true,
    ),
    (
        "a lease outlives a step back of the clock",
        "s.one_ends = min(s.one_ends, longest(s.one))",
        "",
        true,
    ),
    (
        "the short touch revives a lease that has ended",
        "now < heard + lease * 1000",
        "true",
        false,
    ),
    (
        "the short release frees whoever holds",
        "return sub(state, 29, 60) == ticket and not",
        "return not",
        true,
    ),
    (
        "a grant is claimed while the store is closed",
        "unclaimed = closed and r.flag == 1",
        "unclaimed = false",
        true,
    ),
    (
        "who takes the store for closed gives back what he may believe in",
        "if unclaimed then return true end",
        "if unclaimed then s.rare().end_lease(ticket, now) unclaimed = false return s.record(ticket) and true end",
        true,
    ),
    (
        "who takes the store for closed sends back whom another one has granted",
        "if s.due <= now or",
        "if closed and s.one and s.record(s.one).flag == 1 then s.rare().end_lease(s.one, now) end if s.due <= now or",
        true,
    ),
    (
        "who hands over goes on to hold",
        "s.drop_holder(old)",
        "",
        true,
    ),
    (
        "a parked ticket is renewed",
        "if not r or r.flag == 2 then return false end",
        "if not r then return false end",
        false,
    ),
    (
        "a key without an end",
        "redis.call('SET', main, text, 'PX', '1200000')",
        "redis.call('SET', main, text)",
        true,
    ),
    (
        "places do not end",
        "if ends <= now then s.drop_waiter(ticket) else",
        "if false then s.drop_waiter(ticket) else",
        false,
    ),
];

/// More than any of them needs.
const RUNS: u64 = 600;

#[test]
fn faults_that_are_put_into_the_scripts_are_found() {
    let server = Server::start();
    let mut table = String::new();
    let mut missed = Vec::new();
    for &(what, part, other, by_judge) in FAULTS {
        let [both, judge] = [true, false].map(|model| {
            if !model && !by_judge {
                return None;
            }
            let mut bench = Bench::edited(&server, part, other);
            (1..=RUNS).find(|seed| {
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
