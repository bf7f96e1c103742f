//! Scripts with one fault each. The runs find every fault, and the judge alone finds most.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use auto_mutex_difference as difference;

use super::super::server::Server;
use super::bench::Bench;

/// Each fault: its description, the part of the scripts that it replaces, the replacement, whether the judge finds it
/// without the model, and the seed of a run that finds it, which is tried first.
pub(super) const FAULTS: &[(&str, &str, &str, bool, u64)] = &[
    (
        "a full lock lets one more in",
        "if number == 0 and s[USED] + first[UNITS] > s[CAP] then",
        "if number == 0 and s[USED] + first[UNITS] > s[CAP] + 1 then",
        true,
        4,
    ),
    (
        "the plain acquire overtakes who waits",
        "local room = waiting == 0 and used + units <= cap",
        "local room = used + units <= cap",
        false,
        8,
    ),
    (
        "a lease is half as long as was said",
        "flag, token, now + hold * 1000, number, text",
        "flag, token, now + hold * 500, number, text",
        true,
        1,
    ),
    (
        "a token comes again",
        "token = max(now, s[TOK] + 1)",
        "token = max(now, s[TOK])",
        true,
        1,
    ),
    (
        "a release leaves no tombstone",
        "if tomb == 1 then seldom().bury(ticket) end",
        "",
        false,
        3,
    ),
    (
        "a signal that was used comes back",
        "if r[NUMBER] > 0 and r[TOKEN] ~= used then",
        "if r[NUMBER] > 0 then",
        true,
        2,
    ),
    (
        "a lease outlives a step back of the clock",
        "lease_until(r, min(r[WHEN], now + (r[FLAG] == 1 and min(CLAIM_MS, r[HOLD]) or r[HOLD]) * 1000))",
        "lease_until(r, r[WHEN])",
        true,
        1,
    ),
    (
        "the plain touch revives a lease that has ended",
        "now < heard + lease * 1000",
        "true",
        false,
        6,
    ),
    (
        "the plain release frees whoever holds",
        "sub(state, from, from + size - 1) == text then",
        "true then",
        true,
        6,
    ),
    (
        "a grant is claimed while the store is closed",
        "unclaimed = closed and own[FLAG] == 1",
        "unclaimed = false",
        true,
        124,
    ),
    (
        "who takes the store for closed gives back what he may believe in",
        "unclaimed = closed and own[FLAG] == 1",
        "if closed and own[FLAG] == 1 then remove_holder(own) own[FLAG], own[WHEN], own[TOKEN] = 3, 0, 0 put_waiter(own) end",
        true,
        124,
    ),
    (
        "who takes the store for closed sends back whom another one has granted",
        "if s[DUE] <= now then scan(",
        "if closed and held[1] and fetch(held, 1)[FLAG] == 1 then lease_until(fetch(held, 1), now) end if s[DUE] <= now then scan(",
        true,
        4,
    ),
    (
        "who hands off goes on to hold",
        "drop_holder(old)",
        "",
        true,
        2,
    ),
    (
        "a parked ticket is renewed",
        "own, heard = r, r and r[FLAG] ~= 2",
        "own, heard = r, r and true",
        false,
        12,
    ),
    (
        "a key without an end",
        "redis.pcall('SET', KEY, single .. text, 'PX', FRESH_MS)",
        "redis.pcall('SET', KEY, single .. text)",
        true,
        5,
    ),
    (
        "a name gets the operations of another one",
        "base = base + count",
        "base = 1",
        true,
        3,
    ),
    (
        "places do not end",
        "if ends > now or left == 0 or",
        "if ends > now or not holds or left == 0 or",
        false,
        1,
    ),
    (
        "the plain acquire leaves a kept lock with its client",
        "if not room and byte(from, CODE_START) % 8 > 1 then break end",
        "",
        false,
        8,
    ),
    (
        "the plain touch of a waiter leaves a kept lock with its client",
        "if byte(state, CODE_START) % 8 > 1 then break end",
        "",
        false,
        60,
    ),
    (
        "the plain touch leaves the mark of a kept lock",
        "code % 8 < 2 and counter >= last",
        "counter >= last",
        false,
        8,
    ),
    (
        "who had to wait may keep the lock",
        "if kind % 8 > 1 then layout, rest =",
        "if false then layout, rest =",
        false,
        8,
    ),
    (
        "nobody is recalled",
        "tell(r, 'recall', ' ' .. sub(KEY, NAME_START, -2))",
        "",
        false,
        8,
    ),
    (
        "a lock in use counts as kept",
        "return r[MODE] > 3",
        "return true",
        false,
        8,
    ),
    (
        "a lock of another kind leaves a kept lock with its client",
        "known and ask_back(known, member)",
        "false",
        false,
        8,
    ),
    (
        "the number of permits of the newest ticket counts",
        "then return smallest end",
        "then return capacity end",
        false,
        7,
    ),
    (
        "the only ticket's number of permits replaces a smaller one",
        " and s[CAP] == unpack_struct('<I', r[REQUEST], CAPACITY_AT)",
        "",
        false,
        4,
    ),
    (
        "a mutex agrees with a semaphore",
        "return capacity + takes > 1 and",
        "return",
        false,
        6,
    ),
    (
        "more units than there are agree",
        "if agrees and units <= smallest then",
        "if agrees then",
        false,
        2,
    ),
    (
        "a kept lock gets no new token",
        "if mark == 2 or mark == 1 and own[MODE] > 3 then",
        "if mark == 1 and own[MODE] > 3 then",
        false,
        9,
    ),
    (
        "a late request shortens a lease",
        "unpack_struct('<I', text, 34) < own[COUNTER] then heard = false end",
        "false then heard = false end",
        false,
        8,
    ),
];

/// The maximum number of runs for one fault.
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
                let run = || match model {
                    true => difference::run(&mut bench, *seed, &mut HashSet::new()),
                    false => difference::run_by_judge(&mut bench, *seed),
                };
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
