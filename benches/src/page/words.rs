//! The texts of the page: what is measured, how, and how the libraries work. They claim nothing that a run could refute.

use super::losses::Group;

pub(super) const TOP: &str = "\
<!-- Written by `benches/run --page`. Do not edit. -->
# Benchmarks

What a lock costs with auto-mutex: time, requests, bytes, processor time of the server, connections, and memory. The same
measurements are taken of rslock and distkit (Rust, Redis), sqlx's `PgAdvisoryLock` (Rust, PostgreSQL), and, where they are
installed, of four libraries for Node and Python. The *raw limit* is no library: it is a blocking socket that sends the two
smallest commands that make a lock, without a queue, fencing token, renewal or recovery.

`benches/run --page` takes all measurements in less than twenty minutes and writes this page with its plots.
[The benchmarks' own page](../benches/README.md) lists its other options.
";

pub(super) const AFTER_NUMBERS: &str = "\
- **An uncontended call** takes a lock that nobody else wants, runs an empty body, and releases the lock. One task repeats it. A
  dropped guard is released in the background, and other libraries are measured with the awaited release that they document, so
  both ways are shown for auto-mutex.
- **A handoff** is the time from the end of the body in one process to the start of the body of a waiter in another process.
  It is measured with awaited releases only. A library that polls hands off rarely, so its figure is one of few samples: see S5.
- **Requests per call**: in a loop, the release of a dropped guard travels in the same request as the task's next acquire.
  A single call makes two requests, whether its release is awaited or not.
";

pub(super) const NO_LOSSES: &str = "\
In this run, no other library was ahead by more than 5 % in any figure that is compared.
";

pub(super) const LOSSES: &str = "\
These tables list every figure in which another library was ahead of a way to use auto-mutex by more than 5 %. They are computed
from the same measurements as the rest of the page. In parentheses is our figure divided by theirs: the median of the ratios of
all rounds. If a table does not mention a figure, no other library was ahead in it. The raw limit counts as no library. Bytes are
compared with Rust libraries only. S12 is not in these tables: its own show the locks on PostgreSQL beside PostgreSQL's.
";

/// Returns the heading of a group of losses, and the reason.
pub(super) fn why(group: Group) -> (&'static str, &'static str) {
    match group {
        Group::AwaitedRelease => (
            "With an awaited release",
            "\
`unlock().await` waits for a second round trip. Its script does more than the compare-and-delete of a lock without a queue: it
removes the hold, grants the lock to the next waiter, and keeps the fencing token. Dropping the guard avoids the wait. Await the
release only if the code must know that the lock was held until then.
",
        ),
        Group::Uncontended => (
            "Without contention",
            "\
The acquire is a script, which checks the queue, issues a fencing token, and records the holder. `SET NX`, with which rslock
and distkit take a lock, does none of that. Where many calls run at a time, the server is the bottleneck, and its time per call
decides.
",
        ),
        Group::Contended => (
            "Under contention",
            "\
A queue serves the task that has waited longest. Unless handoffs stay inside the process, the next holder must hear of its grant
through the server. A library without a queue may let the task that released the lock take it again at once. This raises the
rate and makes others wait: compare the columns *Jain, tasks* and *max wait*.
",
        ),
        Group::Handoff => (
            "Handoffs",
            "\
Redis publishes the grant to the client of the next waiter, whose thread wakes the waiting task. PostgreSQL needs no message: the
waiter's connection is already blocked in the server, so the reply to its request is the grant. A library that polls may by chance
ask right after the release.
",
        ),
        Group::Server => (
            "The server's time and requests",
            "\
auto-mutex runs scripts that keep a queue, a fencing token and a record of the holder. `SET NX` and a compare-and-delete
keep none of these, and cost Redis less. PostgreSQL's advisory locks live in shared memory.
",
        ),
        Group::Bytes => (
            "Bytes",
            "\
An acquire names the lock, the ticket, the client with its host and process, and the place in the source code, so that
`auto-mutex why` can show who holds a lock and who waits for it. Under contention, notifications are added.
",
        ),
        Group::Waiting => (
            "Waiting",
            "\
A waiter that listens for its grant asks again about once a second, in case the notification was lost. One request stands for all
waiters of a client for the same name. A connection that is blocked in PostgreSQL asks nothing, but each waiter needs one.
",
        ),
        Group::Memory => (
            "Memory",
            "\
Redis keeps a record of each hold: the queue, the fencing token, and who holds the lock. `SET NX` keeps a random value only. The
fencing token outlives the hold by at least ten minutes, so that it never goes back. A client keeps a state machine for each lock
that renews it, reports its loss, and shows it to the operator.
",
        ),
    }
}

pub(super) const METHOD: &str = "\
- Redis and PostgreSQL are started for the measurement, with default settings (but more connections for PostgreSQL), and pinned to
  the first processor. In rows marked *same* the clients run there too, in *split* rows on the second processor, in *both*
  rows on both. A request over a socket takes several times as long across processors. All connections are TCP over the
  loopback interface: a network adds its round trip to every request.
- Contenders take turns: A B, B A, A B. Each turn lasts SECONDS s, of which the first tenth does not count. Tables show the median of
  the rounds. The plotted figure also shows the minimum and the maximum. There are four
  rounds, or three if the plotted figure of each contender varies by at most 10 % or the run takes long, and fewer where one round
  takes long: below each table is written how many. Libraries for Node and Python take part in two.
- A call, or cycle, is one acquire, body and release. Every call is recorded with four times: asked, entered, left, released. All
  figures of time, fairness and overlap are computed from these records, across all processes.
- *requests* are requests per call. Of Redis, they are the commands that clients send, by `INFO commandstats`; of PostgreSQL,
  executed statements, by `pg_stat_statements`: sqlx sends each in one round trip. Each task keeps its own connection to PostgreSQL.
  With a pool, sqlx tests the connection before each use: one more round trip.
- *bytes* are those of requests and replies per call, without TCP's headers: by `INFO stats` of Redis, and by the kernel's count for the
  connections of PostgreSQL. *server µs* is the processor time of the server per call, including all of PostgreSQL's processes.
- rslock is used through `acquire` and an awaited `release`, distkit through `lock` and an awaited `release`, with their default
  pauses between attempts. auto-mutex is used with handles, except where a row says `#[auto_mutex]`. Handoffs inside the process are
  turned off, except in rows that say *local handoff*.
- Plots show medians as dots, and the range of the rounds as lines, on a logarithmic scale. auto-mutex is green.
- Compare ratios. Absolute times belong to this machine, and are worse on a busy one: below each table is also written how
  much other programs ran meanwhile.

";

pub(super) const GOALS: &str = "\
The project sets itself goals for these figures, most of them relative to rslock or to the plain function. `benches/run --gates`
checks them, and CI checks those that hardly depend on the machine.
";

pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
}

/// Returns the title of a scenario, and what happens in it.
pub(super) fn of(scenario: &str) -> Words {
    let (title, about) = match scenario {
        "S1" => (
            "one task, one lock",
            "\
One task takes and releases the same lock again and again. This is the cost of a lock that is usually free. *to enter* is the part
of the call before the body starts. distkit starts a timer before its first attempt, and tokio's timers have a resolution of one
millisecond.
",
        ),
        "S2" => (
            "64 tasks, each with its own lock",
            "\
Nobody waits for anybody: the rate is limited by the client's or the server's processor. The raw limit writes the commands of all 64
locks at once.
",
        ),
        "S3" => (
            "64 tasks of one process want the same lock",
            "\
*Jain* is Jain's index of fairness: 1 if every task had the same number of turns, 1/64 if one task had them all. With local
handoff, the default, most turns pass from task to task inside the process, without a request. *overlaps* counts how often two
tasks were inside at once.
",
        ),
        "S4" => (
            "64 tasks of eight processes want the same lock",
            "\
As S3, but in eight processes of eight tasks. In the second table the body takes one millisecond, so the lock is always busy, and
the longest wait shows how a library treats those that wait.
",
        ),
        "S5" => (
            "a handoff between two processes",
            "\
Two processes take turns with one lock, and hold it for 2 ms. A handoff counts only if the other process was waiting when the lock
was released; *handoffs* says how often that happened. A library that lets the same process take the lock again hands it off
rarely, or never. *release* is the time of the awaited release, *per release* the handoff relative to it.
",
        ),
        "S6" => (
            "the cost of waiting",
            "\
The tasks of one process wait for locks that another process holds. The holder is suspended during the measurement, so all requests
come from the waiters. The holder's connection counts too. Memory of the client is the growth of its resident memory; of the
server, that of `used_memory` (Redis), or of the memory of all processes, shared memory counted once (PostgreSQL). Then the holder
releases the locks: *drained* is the time until every waiter has had its lock, *overtaken* the number of waiters that were passed by
a later one. rslock and distkit are not drained: with a thousand waiters that poll, it takes minutes. The libraries for Node and Python
are not measured.
",
        ),
        "S7" => (
            "the attribute itself",
            "\
What `#[auto_mutex]` costs without a server, on `memory://`: the time and the allocations of a call beside the plain function, and
the time to compile functions with it. No other library has an attribute to compare it with.
",
        ),
        "S8" => (
            "semaphore and readers-writer lock",
            "\
64 tasks share one name. *overlaps* counts entries beyond what the lock allows. rslock and `PgAdvisoryLock` have neither of the two.
distkit's readers-writer lock and the semaphore of redis-semaphore are not measured.
",
        ),
        "S9" => (
            "the cost of holding",
            "\
A process holds 10,000 locks, and nothing happens but their renewal. rslock's `acquire` and PostgreSQL renew nothing, so
they are only in the second table. There, *released* is what the server still keeps after the locks were released and the
client was closed.
",
        ),
        "S10" => (
            "a whole fleet connects, and loses its server",
            "\
3,000 clients, each with its own connection and its own lock, start at once. Then their server is killed and comes back, or
is replaced: the worst moments of a server with many clients. Only auto-mutex is measured.
",
        ),
        "S12" => (
            "the locks on PostgreSQL",
            "\
The same locks on PostgreSQL and on Redis, beside what PostgreSQL itself has: sqlx's `PgAdvisoryLock`, and a transaction that
locks a row by `SELECT … FOR UPDATE`. Two `SELECT 1` lock nothing: they are the least that two requests cost. PostgreSQL has its
default settings, but more connections and `pg_stat_statements`. An advisory lock lives in the server's shared memory and has no lease; a
locked row lasts as long as its transaction; neither has a fencing token, and both need a connection for each lock and each waiter.

On one processor (*same*), even two plain `UPDATE`s of a row by its key cost more than three times as much as two `SELECT 1`, because each
begins and commits a transaction that writes. Under contention, each handoff is a message by `NOTIFY`, and each operation a dozen
queries inside a function; a connection that is blocked in an advisory lock needs neither.

In the last table, two processes take turns with one lock, while other connections of the same database listen and do nothing else, as
idle clients do. Before PostgreSQL 19, each `NOTIFY` wakes all of them, here on one processor. Use a database of its own for the locks, fewer
clients, or `poll=200ms` in clients that seldom wait.
",
        ),
        "S13" => (
            "an old snapshot",
            "\
A transaction that holds an old snapshot keeps PostgreSQL from removing old versions of rows, and each operation reads past those of its
name. Only the end of the transaction helps, or `auto_mutex.compact()` of the schema's owner. S2 runs on PostgreSQL, first without such a transaction, then beside
one (`REPEATABLE READ`, idle) for an hour, in repetitions of a minute. The size, which is read twice a second, is that of all tables and indexes of the
locks. `benches/run --only S13 --repetitions 60 --seconds 60` measures it; other runs leave it out.
",
        ),
        _ => (
            "the search for deadlocks",
            "\
2,000 or 10,000 tasks of 20 clients, each inside a lock of its own, wait for one lock. The table compares the server's
processor time with that of clients that do not search (`Deadlock::Off`), and says how soon a deadlock among the tasks is found.
No other library in this comparison looks for deadlocks.
",
        ),
    };
    Words { title, about }
}
