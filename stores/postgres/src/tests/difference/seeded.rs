//! Functions with one fault each. The runs find every fault, and the judge alone finds some.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use auto_mutex_difference as difference;

use super::bench::Bench;

/// Each fault: its description, the part of the SQL that it replaces, the replacement, whether the judge finds it
/// without the model, and the seed of a run that finds it, which is tried first.
const FAULTS: &[(&str, &str, &str, bool, u64)] = &[
    (
        "a full lock lets one more in",
        "n.held, n.cap, n.last) + t.units > n.cap THEN",
        "n.held, n.cap, n.last) + t.units > n.cap + 1 THEN",
        true,
        1,
    ),
    (
        "a holder with a signal has units too",
        "ends > after AND number IS NULL",
        "ends > after",
        false,
        1,
    ),
    (
        "the plain acquire overtakes who waits",
        "WHERE x.name = wanted AND held = 0 AND waiting = 0",
        "WHERE x.name = wanted AND held = 0",
        false,
        3,
    ),
    (
        "the plain acquire leaves the signals",
        "waiting = 0 AND x.signals = 0 AND x.gone",
        "waiting = 0 AND x.gone",
        false,
        1,
    ),
    (
        "the plain acquire does not see tombstones",
        "x.signals = 0 AND x.gone = 0 AND clk <= at",
        "x.signals = 0 AND clk <= at",
        false,
        5,
    ),
    (
        "a lease is half as long as was said",
        "ends = n.clk + 1000 * lease\n",
        "ends = n.clk + 500 * lease\n",
        true,
        1,
    ),
    (
        "the plain lease is half as long as was said",
        "at, at + 1000 * hold_ms, units, capacity, takes",
        "at, at + 500 * hold_ms, units, capacity, takes",
        true,
        1,
    ),
    (
        "a grant that nobody has claimed lasts as long as others",
        "ELSE least(t.hold_ms, 2000) END;",
        "ELSE t.hold_ms END;",
        false,
        2,
    ),
    (
        "a new waiter counts as one who was told nothing",
        "n.clk, n.clk, 0, 0, retain, meta",
        "n.clk, 0, 0, 0, retain, meta",
        false,
        3,
    ),
    (
        "a token comes again",
        "new_token CONSTANT bigint := greatest(n.clk, n.tok + 1);",
        "new_token CONSTANT bigint := greatest(n.clk, n.tok);",
        true,
        1,
    ),
    (
        "the plain token comes again",
        "tok = greatest(at, tok + 1), known",
        "tok = greatest(at, tok), known",
        true,
        1,
    ),
    (
        "a release leaves no tombstone",
        "IF tomb THEN",
        "IF false THEN",
        false,
        2,
    ),
    (
        "the plain release leaves no tombstone",
        "IF park_ms = 0 AND NOT tomb THEN",
        "IF park_ms = 0 THEN",
        false,
        14,
    ),
    (
        "a tombstone is gone too soon",
        "n.clk + 30000000)\n    ON CONFLICT",
        "n.clk + 3000000)\n    ON CONFLICT",
        false,
        1,
    ),
    (
        "a signal that was used comes back",
        "IF t.token <> used THEN",
        "IF true THEN",
        true,
        2,
    ),
    (
        "the last signal is the first",
        "WHERE name = n.name ORDER BY number LIMIT 1",
        "WHERE name = n.name ORDER BY number DESC LIMIT 1",
        false,
        1,
    ),
    (
        "a lease outlives a step back of the clock",
        "least(ends, at + 1000 * CASE WHEN flag = 1 THEN least(hold_ms, 2000) ELSE hold_ms END)",
        "ends",
        true,
        1,
    ),
    (
        "the plain touch revives a lease that has ended",
        "AND (x.sole).ends > at AND",
        "AND",
        false,
        5,
    ),
    (
        "the plain touch lets a late copy shorten a lease",
        "AND (x.sole).ends > at AND (x.sole).counter <= counter",
        "AND (x.sole).ends > at",
        false,
        17,
    ),
    (
        "the plain touch leaves the mark of a kept lock",
        "(x.sole).ticket = own AND (x.sole).retain = 0 AND",
        "(x.sole).ticket = own AND",
        false,
        8,
    ),
    (
        "the plain touch returns no units",
        "least((x.sole).units, units)",
        "(x.sole).units",
        false,
        4,
    ),
    (
        "the plain release frees whoever holds",
        "(x.sole).ticket = own AND x.signals = 0",
        "(x.sole).ticket IS NOT NULL AND x.signals = 0",
        true,
        1,
    ),
    (
        "a release with an acquire frees whoever holds",
        "(x.sole).ticket = leaving[i]",
        "(x.sole).ticket IS NOT NULL",
        true,
        6,
    ),
    (
        "a release with an acquire changes the capacity",
        "AND x.cap = capacity[i] AND",
        "AND",
        false,
        45,
    ),
    (
        "a release with an acquire leaves the signals",
        "AND x.gone = 0 AND x.signals = 0\n",
        "AND x.gone = 0\n",
        false,
        1,
    ),
    (
        "after a release with an acquire, a token comes again",
        "tok = greatest(at, tok + 1), seq",
        "tok = greatest(at, tok), seq",
        true,
        40,
    ),
    (
        "after a release with an acquire, a lease is half as long",
        "at + 1000 * hold_ms[i]",
        "at + 500 * hold_ms[i]",
        true,
        1,
    ),
    (
        "a late request shortens a lease",
        "IF holds AND t.flag = 0 AND new_counter < t.counter THEN",
        "IF false THEN",
        false,
        4,
    ),
    (
        "a grant is claimed while the store is closed",
        "IF n.clk >= opens OR t.flag <> 1 THEN\n    t.hold_ms",
        "IF true THEN\n    t.hold_ms",
        true,
        124,
    ),
    (
        "who takes the store for closed takes a grant for good",
        "IF at < opens AND t.flag = 1 THEN\n    RETURN",
        "IF false THEN\n    RETURN",
        true,
        124,
    ),
    (
        "who hands off keeps the token",
        "n.tok := greatest(n.clk, n.tok + 1);\n      UPDATE auto_mutex.tickets AS x SET\n        ticket = own",
        "UPDATE auto_mutex.tickets AS x SET\n        ticket = own",
        true,
        2,
    ),
    (
        "a parked ticket is renewed",
        "IF t.ticket IS NULL OR t.flag = 2 THEN",
        "IF t.ticket IS NULL THEN",
        false,
        12,
    ),
    (
        "places do not end",
        "line > 0 AND ends <= at\n",
        "line > 0 AND ends <= 0\n",
        false,
        1,
    ),
    (
        "who has given up still counts",
        "n.waiting := n.waiting - removed;",
        "",
        false,
        1,
    ),
    (
        "who was passed over stays so",
        "      t.line := 1;\n",
        "",
        false,
        3,
    ),
    (
        "the third is not told that it is near",
        "ORDER BY place LIMIT 3",
        "ORDER BY place LIMIT 2",
        false,
        50,
    ),
    (
        "nobody is recalled",
        "IF n.held = 1 AND t.retain > 0 AND t.member <> caller THEN",
        "IF false THEN",
        false,
        8,
    ),
    (
        "a lock in use counts as kept",
        "is_kept := t.retain = 2;",
        "is_kept := true;",
        false,
        8,
    ),
    (
        "a lock of another kind leaves a kept lock with its client",
        "IF reply LIKE 'MISMATCH%' THEN",
        "IF false THEN",
        false,
        8,
    ),
    (
        "who had to wait may keep the lock",
        "AND x.ticket = own AND x.retain <> 0;",
        "AND false;",
        false,
        8,
    ),
    (
        "a kept lock gets no new token",
        "IF mark = 2 OR mark = 1 AND t.retain = 2 THEN",
        "IF mark = 1 AND t.retain = 2 THEN",
        false,
        9,
    ),
    (
        "the only unit counts as taken although a signal was granted",
        "WHEN cap = 1 AND last = 0 THEN 1",
        "WHEN cap = 1 THEN 1",
        false,
        1,
    ),
    (
        "the greatest number of permits counts",
        "SELECT min(a.cap) FROM asked",
        "SELECT max(a.cap) FROM asked",
        false,
        2,
    ),
    (
        "more units than there are agree",
        " AND max(a.units) <= min(a.cap)",
        "",
        false,
        2,
    ),
    (
        "a mutex agrees with a semaphore",
        "OR a.cap = 1 AND a.takes)",
        "OR a.cap = 1)",
        false,
        6,
    ),
    (
        "the end of a grant is overlooked",
        "  n.soonest := least(n.soonest, n.clk + 1000 * lease);\n",
        "",
        false,
        3,
    ),
    (
        "the end of a renewed lease is overlooked",
        "  n.soonest := least(n.soonest, n.clk + 1000 * least(hold_ms, place_ms));\n  IF known",
        "  IF known",
        false,
        3,
    ),
    (
        "a step back of the clock ends no lease",
        "    n.soonest := 0;\n",
        "",
        false,
        10,
    ),
    (
        "who was passed over counts as before the last in line",
        "SELECT n.waiting - count(*) INTO",
        "SELECT n.waiting INTO",
        false,
        1,
    ),
    (
        "a holder with a signal is parked",
        "AND (park_ms = 0 OR x.number IS NOT NULL))",
        "AND park_ms = 0)",
        false,
        7,
    ),
    (
        "a rewritten table has lost rows",
        "SELECT * FROM unnest($1::auto_mutex.%1$I[])'",
        "SELECT * FROM unnest($1::auto_mutex.%1$I[]) LIMIT 1'",
        false,
        1,
    ),
];

/// The maximum number of runs for one fault.
const RUNS: u64 = 300;

#[test]
fn faults_that_are_put_into_the_functions_are_found() {
    let database = Bench::database();
    let mut table = String::new();
    let mut missed = Vec::new();
    for &(what, part, other, by_judge, known) in FAULTS {
        let [both, judge] = [true, false].map(|model| {
            if !model && !by_judge {
                return None;
            }
            let mut bench = Bench::edited(&database, part, other);
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
