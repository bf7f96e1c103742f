//! The goals of all scenarios.

use super::Limit::{AtLeast, AtMost};
use super::{Find, Goal, Limit};
use crate::peer::Contender::{
    self, AutoMutex, AutoMutexAttribute, AutoMutexAwaited, AutoMutexKept, AutoMutexKeptAwaited,
    AutoMutexLocal, AutoMutexLocalAwaited, AutoMutexPostgres, AutoMutexPostgresAwaited,
    AutoMutexPostgresLocal, AutoMutexRwLock, AutoMutexSemaphore, AutoMutexThreads, PgAdvisoryLock,
    Rslock, RslockThreads, TwoSelects,
};
use crate::run::Placement::{self, Alone, Both, Same, Split};
use crate::scenario::herd::place::Kind::{self, Cluster, Sentinel, Server};
use crate::scenario::postgres::{ALONE, THOUSAND};
use crate::worker::Kind as Call;

/// Returns the goals of all scenarios, in the order of the scenarios.
pub(super) fn all() -> Vec<Goal> {
    let mut goals = speed();
    goals.extend(kept());
    goals.extend(through_redis());
    goals.extend(local());
    goals.extend(idle());
    goals.extend(attribute());
    goals.extend(postgres());
    goals
}

/// Goals of S1, S2 and S5.
fn speed() -> Vec<Goal> {
    let cycle = |who, placement| against("S1", placement, who, Rslock, "cycle_p50_us");
    let many = |who, placement| against("S2", placement, who, Rslock, "per_second");
    let handoff =
        |placement, name| against("S5", placement, AutoMutexAwaited, PgAdvisoryLock, name);
    vec![
        time(
            "S1 same: cycle to rslock's",
            AtMost(0.6),
            cycle(AutoMutex, Same),
        ),
        time(
            "S1 split: cycle to rslock's",
            AtMost(0.6),
            cycle(AutoMutex, Split),
        ),
        time(
            "S1 split: attribute's cycle to rslock's",
            AtMost(0.6),
            cycle(AutoMutexAttribute, Split),
        ),
        time(
            "S1 same: cycle with an awaited unlock to rslock's",
            AtMost(1.0),
            cycle(AutoMutexAwaited, Same),
        ),
        time(
            "S1 split: cycle with an awaited unlock to rslock's",
            AtMost(0.95),
            cycle(AutoMutexAwaited, Split),
        ),
        count(
            "S1: bytes per call",
            AtMost(240.0),
            figure("S1", Split, AutoMutex, "bytes"),
        ),
        count(
            "S1: bytes per call with an awaited unlock",
            AtMost(240.0),
            figure("S1", Split, AutoMutexAwaited, "bytes"),
        ),
        time(
            "S2 same: cycles/s to rslock's",
            AtLeast(1.3),
            many(AutoMutex, Same),
        ),
        time(
            "S2 split: cycles/s to rslock's",
            AtLeast(1.5),
            many(AutoMutex, Split),
        ),
        time(
            "S2 same: cycles/s with an awaited unlock to rslock's",
            AtLeast(1.0),
            many(AutoMutexAwaited, Same),
        ),
        time(
            "S2 split: cycles/s with an awaited unlock to rslock's",
            AtLeast(1.1),
            many(AutoMutexAwaited, Split),
        ),
        time(
            "S2 both: cycles/s to rslock's, 2 threads each",
            AtLeast(1.2),
            against("S2", Both, AutoMutexThreads, RslockThreads, "per_second"),
        ),
        time(
            "S5 split: handoff to the release's round trip",
            AtMost(1.3),
            figure("S5", Split, AutoMutexAwaited, "handoff_per_release"),
        ),
        time(
            "S5 same: handoff p50 to PgAdvisoryLock's",
            AtMost(1.0),
            handoff(Same, "handoff_p50_us"),
        ),
        time(
            "S5 split: handoff p50 to PgAdvisoryLock's",
            AtMost(1.0),
            handoff(Split, "handoff_p50_us"),
        ),
        time(
            "S5 same: handoff p99 to PgAdvisoryLock's",
            AtMost(1.0),
            handoff(Same, "handoff_p99_us"),
        ),
        time(
            "S5 split: handoff p99 to PgAdvisoryLock's",
            AtMost(1.0),
            handoff(Split, "handoff_p99_us"),
        ),
    ]
}

/// Goals of locks that stay with their client: an owner that returns, and no loss for others.
fn kept() -> Vec<Goal> {
    let cycle = |placement| against("S1", placement, AutoMutexKept, Rslock, "cycle_p50_us");
    let many = |name| figure("S2", Split, AutoMutexKept, name);
    let one = |name| figure("S1", Split, AutoMutexKept, name);
    vec![
        time(
            "S1 same, retain: cycle to rslock's",
            AtMost(0.05),
            cycle(Same),
        ),
        time(
            "S1 split, retain: cycle to rslock's",
            AtMost(0.05),
            cycle(Split),
        ),
        count("S1 retain: requests", AtMost(0.001), one("requests")),
        time(
            "S2 split, retain: cycles/s to rslock's",
            AtLeast(5.0),
            against("S2", Split, AutoMutexKept, Rslock, "per_second"),
        ),
        count("S2 retain: requests", AtMost(0.001), many("requests")),
        count(
            "S1 retain: allocations",
            AtMost(0.01),
            named(
                "S7 heap",
                Same,
                "auto-mutex, one cycle, retain",
                "allocations",
            ),
        ),
        time(
            "S4 retain: cycles/s to those without",
            AtLeast(0.98),
            against("S4", Split, AutoMutexKept, AutoMutex, "per_second"),
        ),
        count(
            "S4 retain: overlaps",
            AtMost(0.0),
            figure("S4", Split, AutoMutexKept, "overlaps"),
        ),
        time(
            "S5 split, retain: handoff to that without",
            AtMost(1.02),
            against(
                "S5",
                Split,
                AutoMutexKeptAwaited,
                AutoMutexAwaited,
                "handoff_p50_us",
            ),
        ),
    ]
}

/// Goals of S3, S4 and S8, without handoffs inside the process.
fn through_redis() -> Vec<Goal> {
    let of = |table, name| figure(table, Split, AutoMutex, name);
    let to_rslock = |table, name| against(table, Split, AutoMutex, Rslock, name);
    vec![
        time(
            "S3: cycles/s to rslock's",
            AtLeast(1.4),
            to_rslock("S3", "per_second"),
        ),
        time(
            "S3: max wait to median",
            AtMost(5.0),
            of("S3", "wait_max_per_p50"),
        ),
        count(
            "S3: requests per acquisition",
            AtMost(2.1),
            of("S3", "requests"),
        ),
        time(
            "S3: Jain's index of tasks",
            AtLeast(0.99),
            of("S3", "jain_tasks"),
        ),
        count("S3: overlaps", AtMost(0.0), of("S3", "overlaps")),
        time(
            "S4: cycles/s to rslock's",
            AtLeast(1.4),
            to_rslock("S4", "per_second"),
        ),
        time(
            "S4: cycles/s to PgAdvisoryLock's",
            AtLeast(1.2),
            against("S4", Split, AutoMutex, PgAdvisoryLock, "per_second"),
        ),
        time(
            "S4: max wait to median",
            AtMost(5.0),
            of("S4", "wait_max_per_p50"),
        ),
        count(
            "S4: requests per acquisition",
            AtMost(2.1),
            of("S4", "requests"),
        ),
        time(
            "S4: Jain's index of tasks",
            AtLeast(0.99),
            of("S4", "jain_tasks"),
        ),
        count("S4: overlaps", AtMost(0.0), of("S4", "overlaps")),
        time(
            "S4 1 ms: max wait to rslock's",
            AtMost(0.05),
            to_rslock("S4 1 ms", "wait_max_ms"),
        ),
        count("S4 1 ms: overlaps", AtMost(0.0), of("S4 1 ms", "overlaps")),
        count(
            "S8 semaphore: overlaps",
            AtMost(0.0),
            figure("S8", Split, AutoMutexSemaphore, "overlaps"),
        ),
        count(
            "S8 readers-writer: overlaps",
            AtMost(0.0),
            figure("S8", Split, AutoMutexRwLock, "overlaps"),
        ),
    ]
}

/// Goals of S3 and S4, with handoffs inside the process.
fn local() -> Vec<Goal> {
    let of = |table, name| figure(table, Split, AutoMutexLocal, name);
    let to_rslock = |table| against(table, Split, AutoMutexLocal, Rslock, "per_second");
    vec![
        time(
            "S3 local: cycles/s to rslock's",
            AtLeast(50.0),
            to_rslock("S3"),
        ),
        time(
            "S3 local: max wait ms",
            AtMost(100.0),
            of("S3", "wait_max_ms"),
        ),
        time(
            "S3 local: requests per acquisition",
            AtMost(0.1),
            of("S3", "requests"),
        ),
        time(
            "S3 local: Jain's index of tasks",
            AtLeast(0.99),
            of("S3", "jain_tasks"),
        ),
        time(
            "S3 local: cycles/s with an awaited unlock to those without",
            AtLeast(1.0 / 3.0),
            against(
                "S3",
                Split,
                AutoMutexLocalAwaited,
                AutoMutexLocal,
                "per_second",
            ),
        ),
        time(
            "S3 local: requests per acquisition with an awaited unlock",
            AtMost(0.1),
            figure("S3", Split, AutoMutexLocalAwaited, "requests"),
        ),
        count("S3 local: overlaps", AtMost(0.0), of("S3", "overlaps")),
        time(
            "S4 local: cycles/s to rslock's",
            AtLeast(50.0),
            to_rslock("S4"),
        ),
        time(
            "S4 local: max wait ms",
            AtMost(100.0),
            of("S4", "wait_max_ms"),
        ),
        time(
            "S4 local: requests per acquisition",
            AtMost(0.1),
            of("S4", "requests"),
        ),
        time(
            "S4 local: Jain's index of tasks",
            AtLeast(0.99),
            of("S4", "jain_tasks"),
        ),
        time(
            "S4 local: Jain's index of processes",
            AtLeast(0.99),
            of("S4", "jain_processes"),
        ),
        count("S4 local: overlaps", AtMost(0.0), of("S4", "overlaps")),
        time(
            "S4 1 ms local: max wait to rslock's",
            AtMost(0.05),
            against("S4 1 ms", Split, AutoMutexLocal, Rslock, "wait_max_ms"),
        ),
        count(
            "S4 1 ms local: overlaps",
            AtMost(0.0),
            of("S4 1 ms", "overlaps"),
        ),
    ]
}

/// Goals of S12 and S14.
fn postgres() -> Vec<Goal> {
    let cycle = |placement, ours| against("S12", placement, ours, TwoSelects, "cycle_p50_us");
    let rate = |table, ours| against(table, Split, ours, PgAdvisoryLock, "per_second");
    vec![
        time(
            "S12 same: cycle to two SELECT 1",
            AtMost(2.5),
            cycle(Same, AutoMutexPostgres),
        ),
        time(
            "S12 split: cycle to two SELECT 1",
            AtMost(1.2),
            cycle(Split, AutoMutexPostgres),
        ),
        time(
            "S12 same: cycle with an awaited unlock to two SELECT 1",
            AtMost(2.5),
            cycle(Same, AutoMutexPostgresAwaited),
        ),
        time(
            "S12 split: cycle with an awaited unlock to two SELECT 1",
            AtMost(1.2),
            cycle(Split, AutoMutexPostgresAwaited),
        ),
        time(
            "S12: cycles/s of 64 keys to PgAdvisoryLock's",
            AtLeast(1.0),
            rate("S12 many", AutoMutexPostgres),
        ),
        time(
            "S12: cycles/s of one key to PgAdvisoryLock's",
            AtLeast(0.6),
            rate("S12 one key", AutoMutexPostgres),
        ),
        time(
            "S12: cycles/s of one key to PgAdvisoryLock's, local handoff",
            AtLeast(5.0),
            rate("S12 one key", AutoMutexPostgresLocal),
        ),
        time(
            "S12: cycles/s beside 1,000 idle clients to those without",
            AtLeast(1.0 / 3.0),
            Box::new(|report| report.ratio("S12 idle", Split, THOUSAND, ALONE, "per_second")),
        ),
        count(
            "S12 one key: overlaps",
            AtMost(0.0),
            figure("S12 one key", Split, AutoMutexPostgres, "overlaps"),
        ),
        count(
            "S12 one key: overlaps, local handoff",
            AtMost(0.0),
            figure("S12 one key", Split, AutoMutexPostgresLocal, "overlaps"),
        ),
        count(
            "S12: connections of 1,000 waiters, and of the holder",
            AtMost(2.0),
            figure("S12 waiters", Split, AutoMutexPostgres, "connections"),
        ),
        count(
            "S12: waiters that were overtaken",
            AtMost(0.0),
            figure("S12 waiters", Split, AutoMutexPostgres, "overtaken"),
        ),
        time(
            "S14: longest script with 10,000 waiters, ms",
            AtMost(2.0),
            figure("S14 waiters", Split, AutoMutex, "longest_ms"),
        ),
        time(
            "S14: longest function of PostgreSQL with 10,000 waiters, ms",
            AtMost(2.0),
            figure("S14 waiters", Split, AutoMutexPostgres, "longest_ms"),
        ),
    ]
}

/// Goals of S6, S9, S10 and S11.
fn idle() -> Vec<Goal> {
    let waiting = |name| figure("S6", Split, AutoMutex, name);
    let many = |name| figure("S6 100k", Split, AutoMutexLocal, name);
    let held = |name| figure("S9", Split, AutoMutex, name);
    let herd = |kind: Kind, name| named("S10", Both, kind.label(), name);
    let nested = |name| figure("S11", Split, AutoMutex, name);
    let memory = |name| figure("S9 memory", Split, AutoMutex, name);
    vec![
        time(
            "S6: requests/s",
            AtMost(1.0),
            waiting("requests_per_second"),
        ),
        count(
            "S6: connections, the holder's too",
            AtMost(2.0),
            waiting("connections"),
        ),
        time(
            "S6: CPU ms in 10 s",
            AtMost(10.0),
            waiting("client_cpu_ms_per_10_s"),
        ),
        count(
            "S6: heap bytes per waiter",
            AtMost(1331.0),
            named("S7 heap", Same, "auto-mutex, a waiter", "bytes"),
        ),
        time("S6: overtaken", AtMost(0.0), waiting("overtaken")),
        time(
            "S6 100k: requests/s and name",
            AtMost(1.0),
            many("requests_per_name"),
        ),
        count(
            "S6 100k: connections, the holder's too",
            AtMost(2.0),
            many("connections"),
        ),
        count(
            "S6 100k: resident bytes per waiter",
            AtMost(2048.0),
            many("bytes_per_waiter"),
        ),
        time("S6 100k: overtaken", AtMost(0.0), many("overtaken")),
        time("S9: % of a CPU", AtMost(0.8), held("client_cpu_percent")),
        // Sixteen renewals are one request.
        count(
            "S9: requests per lock and beat",
            AtMost(0.1),
            held("requests_per_lock_and_beat"),
        ),
        time("S9: bursts per beat", AtMost(1.5), held("bursts_per_beat")),
        count(
            "S9: server's bytes per held lock",
            AtMost(250.0),
            memory("server_bytes_held"),
        ),
        count(
            "S9: client's bytes per held lock",
            AtMost(1536.0),
            memory("client_bytes_held"),
        ),
        time(
            "S10: clients not served",
            AtMost(0.0),
            herd(Server, "not_served"),
        ),
        time(
            "S10: all served after s",
            AtMost(30.0),
            herd(Server, "served_s"),
        ),
        time(
            "S10: KB sent per client",
            AtMost(20.0),
            herd(Server, "kb_per_client"),
        ),
        time(
            "S10: start of all, s",
            AtMost(30.0),
            herd(Server, "start_s"),
        ),
        time(
            "S10, Sentinel: clients not served",
            AtMost(0.0),
            herd(Sentinel, "not_served"),
        ),
        time(
            "S10, Cluster: clients not served",
            AtMost(0.0),
            herd(Cluster, "not_served"),
        ),
        time(
            "S11: server's time to that without a search",
            AtMost(2.0),
            nested("to_off"),
        ),
        time(
            "S11: server's time of 10,000 to 2,000",
            AtMost(5.0),
            nested("to_small"),
        ),
        time(
            "S11: a deadlock is found in s",
            AtMost(3.0),
            nested("found_s"),
        ),
        time(
            "S11: a deadlock among 10,000 is found in s",
            AtMost(3.0),
            nested("found_large_s"),
        ),
    ]
}

/// Goals of S7.
fn attribute() -> Vec<Goal> {
    let call = |kind: Call, name| named("S7", Alone, kind.label(), name);
    vec![
        time(
            "S7: ns of a call under another lock, beyond one that isn't",
            AtMost(100.0),
            call(Call::Nested, "over_plain_ns"),
        ),
        count(
            "S7: allocations of a call under another lock",
            // Those of the list of the locks that its task holds, for the store, for
            // the lock order and for the search for deadlocks. The one outer call is shared by all nested calls.
            AtMost(6.01),
            call(Call::Nested, "allocations"),
        ),
        // A call has the memory of the last call of its name.
        count(
            "S7 fn: allocations per call",
            AtMost(0.01),
            call(Call::Sync, "allocations"),
        ),
        count(
            "S7 async fn: allocations per call",
            AtMost(0.01),
            call(Call::Async, "allocations"),
        ),
        count(
            "S7 Redis: allocations beyond redis-rs's",
            AtMost(1.0),
            named("S7 heap", Same, "auto-mutex beyond redis-rs", "allocations"),
        ),
        compile(
            "S7: check of fns of three lines to plain",
            2.5,
            "1,000 of three lines, sync",
        ),
        compile(
            "S7: check of async fns of three lines to plain",
            2.5,
            "1,000 of three lines, async",
        ),
        compile(
            "S7: check of fns of six lines to plain",
            1.5,
            "300 of six lines, sync",
        ),
        compile(
            "S7: check of async fns of six lines to plain",
            1.5,
            "300 of six lines, async",
        ),
        compile(
            "S7: check of chains of 25 to plain",
            2.5,
            "10 chains of 25, async",
        ),
        compile(
            "S7: check of async_trait to plain",
            2.5,
            "200 methods of async_trait",
        ),
        compile(
            "S7: build of fns of six lines to plain",
            1.3,
            "300 of six lines, built",
        ),
        time(
            "S7: a user's clean release build to rslock's",
            AtMost(0.9),
            against("S7 build", Both, AutoMutex, Rslock, "build_cpu_s"),
        ),
        time(
            "S7: a user's stripped program, MB",
            AtMost(2.5),
            figure("S7 build", Both, AutoMutex, "megabytes"),
        ),
        // It was 1,914 with a constructor for each site.
        expansion(
            "S7: bytes of an expansion",
            "expansion, (expire, block)",
            1_148.0,
        ),
        expansion(
            "S7: bytes of an expansion with a key",
            "expansion, (expire, block, key)",
            1_208.0,
        ),
    ]
}

fn compile(what: &'static str, limit: f64, who: &'static str) -> Goal {
    time(
        what,
        AtMost(limit),
        named("S7 compile", Both, who, "to_plain"),
    )
}

/// Not measured with `--gates counts`, which builds nothing.
fn expansion(what: &'static str, who: &'static str, limit: f64) -> Goal {
    time(what, AtMost(limit), named("S7 compile", Both, who, "bytes"))
}

/// A goal that depends on the machine: a time, and also a rate, or who comes first.
fn time(what: &'static str, limit: Limit, find: Find) -> Goal {
    Goal {
        what,
        limit,
        count: false,
        find,
    }
}

/// A goal whose figure is the same on a busy machine.
fn count(what: &'static str, limit: Limit, find: Find) -> Goal {
    Goal {
        count: true,
        ..time(what, limit, find)
    }
}

fn figure(table: &'static str, placement: Placement, who: Contender, figure: &'static str) -> Find {
    named(table, placement, who.label(), figure)
}

fn named(
    table: &'static str,
    placement: Placement,
    who: &'static str,
    figure: &'static str,
) -> Find {
    Box::new(move |report| report.summary(table, placement, who, figure))
}

fn against(
    table: &'static str,
    placement: Placement,
    who: Contender,
    base: Contender,
    figure: &'static str,
) -> Find {
    let (who, base) = (who.label(), base.label());
    Box::new(move |report| report.ratio(table, placement, who, base, figure))
}
