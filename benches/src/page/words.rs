//! The texts of the page: what is measured, how, and how the libraries work. They claim nothing that a run could
//! refute.

pub(super) const TOP: &str = "\
<!-- Written by `benches/run --page`. Do not edit. -->
# Benchmarks

What a lock costs with auto-mutex, beside rslock and distkit (Rust, Redis), sqlx's `PgAdvisoryLock` (Rust,
PostgreSQL), and four libraries for Node and Python. The *raw limit* is no library: a blocking socket sends the two
smallest commands that make a lock, without a queue, fencing token, renewal or recovery.

`benches/run --page` measures everything in less than half an hour and writes this page. See also
[its other options](../benches/README.md).
";

pub(super) const AFTER_NUMBERS: &str = "\
- **An uncontended call** takes a free lock, runs an empty body, and releases the lock, again and again. A dropped
  guard is released in the background. The other libraries await the release, as they document it.
- **A handoff** lasts from the end of the body in one process to the start of the next body in another.
- **Requests per call**: in a loop, the release of a dropped guard travels with the next acquire. A single call makes
  two requests.
";

pub(super) const NO_LOSSES: &str = "\
In this run, no other library was ahead by more than 5 % in any figure that is compared.
";

pub(super) const LOSSES: &str = "\
Every figure in which another Rust library was ahead by more than 5 %, in the median of the rounds: the worst case,
and in how many of the comparisons. PostgreSQL's own locks are compared in S12.
";

pub(super) const UNCONTENDED: &str =
    "acquire and release are scripts that keep a queue and a token";
pub(super) const CONTENDED: &str =
    "a queue is fair; without one, the last holder takes the lock again";
pub(super) const HANDOFF: &str =
    "Redis publishes the grant; PostgreSQL just answers a blocked connection";
pub(super) const SERVER: &str = "scripts cost Redis more than `SET NX` and a compare-and-delete";
pub(super) const BYTES: &str =
    "requests name the client and the line of code, for `auto-mutex why`";
pub(super) const WAITING: &str = "waiters ask again once a second, in case a message was lost";
pub(super) const CLIENT: &str = "the client renews, watches and shows each lock";
pub(super) const MEMORY: &str = "Redis keeps holder, queue and token; the token outlives the hold";

pub(super) const METHOD: &str = "\
- Servers have default settings (PostgreSQL more connections) and are pinned to the first processor. *same*: the
  clients run there too; *split*: on the second; *both*: on both. A column without such a word shows *split*.
- Connections are TCP over loopback: a network adds its round trip to every request.
- Contenders take turns (A B, B A) of SECONDS s, of which the first tenth doesn't count. Tables show medians of the
  rounds, and for plotted figures the range. Below each table: the rounds, and the processors that other programs used
  meanwhile.
- A call, or cycle, is one acquire, body and release. *requests*, *bytes* (both ways, without TCP's headers) and
  *server µs* (processor time of the server, with all processes of PostgreSQL) are per call.
- auto-mutex is used with handles. Handoffs inside the process are off, except in rows with *local handoff*.
- Plots show medians on logarithmic scales; auto-mutex is green. The libraries for Node and Python
  are only there, and distkit where rslock is in the table.
- Compare ratios: absolute times belong to this machine.

";

pub(super) const GOALS: &str = "\
`benches/run --gates` checks the project's goals, most of them ratios to another library or to the plain function. CI
checks those that hardly depend on the machine.
";

pub(super) struct Words {
    pub(super) title: &'static str,
    pub(super) about: &'static str,
}

/// Returns the title of a scenario, and what happens in it, or `None` if the page doesn't show it.
pub(super) fn of(scenario: &str) -> Option<Words> {
    let (title, about) = match scenario {
        "S1" => (
            "one task, one lock",
            "\
The cost of a lock that is usually free. With *retain*, a lock stays with its client until another one asks for it.
distkit waits for a timer before its first attempt.
",
        ),
        "S2" => (
            "64 tasks, each with its own lock",
            "\
Nobody waits: the client's or the server's processor is the limit. The raw limit pipelines the commands of all locks.
",
        ),
        "S3" => (
            "64 tasks of one process want the same lock",
            "\
*Jain* is Jain's index of fairness: 1 if all tasks had the same number of turns. With local handoff, the default, most
turns pass from task to task without a request.
",
        ),
        "S4" => (
            "64 tasks of eight processes want the same lock",
            "\
As S3, in eight processes. In the second table the body takes a millisecond, so the lock is always busy.
",
        ),
        "S5" => (
            "a handoff between two processes",
            "\
Two processes take turns and hold the lock for 2 ms. A handoff counts if the other process was already waiting. A
library that polls hands off rarely, so its figures are few samples.
",
        ),
        "S6" => (
            "the cost of waiting",
            "\
The tasks of one process wait for locks of another one, which is suspended: all requests are the waiters'. *drained*
is the time until all of them have had the lock. Libraries that poll are not drained: it takes minutes.
",
        ),
        "S7" => (
            "the attribute itself",
            "\
What `#[auto_mutex]` costs without a server, and what it costs to compile. The last table compares a program with
rslock's, both with tokio, built in an empty target folder; rslock has the feature `tokio-comp`, as it has no runtime
by default.
",
        ),
        "S8" => (
            "semaphore and readers-writer lock",
            "\
64 tasks share one name. No other library here has both.
",
        ),
        "S9" => (
            "the cost of holding",
            "\
A process holds 10,000 locks, and nothing happens but their renewal. rslock's `acquire` and PostgreSQL renew nothing.
More about memory is in [Sizing](#sizing).
",
        ),
        "S10" => (
            "a fleet connects, and loses its server",
            "\
The worst moments of a server with many clients. Only auto-mutex is measured.
",
        ),
        "S11" => (
            "the search for deadlocks",
            "\
2,000 or 10,000 tasks of 20 clients, each inside a lock of its own, wait for one lock: the server's time, relative to
clients that don't search (`Deadlock::Off`), and how soon a deadlock among them is found.
",
        ),
        "S12" => (
            "the locks on PostgreSQL",
            "\
Beside PostgreSQL's own means: an advisory lock has no lease, a locked row lasts as long as its transaction, neither
has a fencing token, and both need a connection for each lock and waiter. Two `SELECT 1` are the least that two
requests cost. In the last table, clients of auto-mutex are connected that once took a lock. They no longer listen.
Before PostgreSQL 19, each `NOTIFY` wakes all that do: use a database of its own for the locks, or `poll=200ms` in
clients that seldom wait.
",
        ),
        "S14" => (
            "as work grows",
            "\
Clients, tasks and waiters share the second processor. Waiters are spread over up to 1,000 clients, on PostgreSQL 100.
Where a library needs a connection for each, it ends at 1,000; clients end at 3,000. A longest script of 0.10 ms means
at most that.
",
        ),
        // S13 takes an hour, and runs apart.
        _ => return None,
    };
    Some(Words { title, about })
}

/// Reasons why goals may be missed, by the beginnings of their names. The first one that fits counts.
pub(super) const REASONS: &[(&str, &str)] = &[
    (
        "S1 same: cycle to",
        "both sides share a processor, and our client does more than rslock's",
    ),
    (
        "S1 split: cycle to",
        "the script takes the server longer than `SET NX`",
    ),
    (
        "S1 split: attribute's",
        "as with handles; the attribute also sends its key and its place in the code",
    ),
    (
        "S1 same: cycle with an awaited",
        "both sides make two requests, and our scripts do more",
    ),
    (
        "S1 split: cycle with an awaited",
        "both sides make two requests, and our scripts do more",
    ),
    (
        "S1: bytes",
        "requests carry the ticket, the client and the place in the code; a release of its own names the key again",
    ),
    (
        "S1 same, retain",
        "the client's own time is all that is left",
    ),
    (
        "S1 split, retain",
        "the client's own time is all that is left",
    ),
    ("S1 retain", "the first calls of a name ask the server"),
    (
        "S2 same:",
        "our scripts keep a queue and a token, on the processor of the client",
    ),
    (
        "S2 split:",
        "our scripts keep a queue and a token, and the client keeps the state of each lock",
    ),
    (
        "S2 both:",
        "the server is the limit, and shares its processor with the client",
    ),
    (
        "S2 split, retain",
        "the client's own time is all that is left",
    ),
    ("S2 retain", "the first calls of each name ask the server"),
    (
        "S3: cycles/s",
        "each turn passes through Redis in order; with rslock the last holder often takes the lock again",
    ),
    (
        "S4: cycles/s to rslock",
        "each turn passes through Redis in order; with rslock the last holder often takes the lock again",
    ),
    (
        "S4: cycles/s to PgAdvisoryLock",
        "Redis publishes a grant as one more message; PostgreSQL answers a blocked connection",
    ),
    ("S4 retain", "another client has to ask for the lock"),
    (
        "S3 local",
        "the client's own time decides, and rslock's rate varies",
    ),
    (
        "S4 local",
        "the clients' own time decides, and rslock's rate varies",
    ),
    (
        "S4 1 ms",
        "nobody can wait less than 64 turns; rslock's longest wait varies",
    ),
    ("S3:", "other programs delayed some tasks"),
    ("S4:", "other programs delayed some tasks"),
    (
        "S5 split: handoff to the release's",
        "the grant is one more message after the release",
    ),
    ("S5 split, retain", "another client has to ask for the lock"),
    (
        "S5",
        "Redis publishes a grant as one more message; PostgreSQL answers a blocked connection",
    ),
    ("S6", "waiters ask again about once a second"),
    (
        "S7: ns of a call under",
        "each nested call checks the order of locks",
    ),
    (
        "S7: check of",
        "the compiler checks the expansion of each function, whose own body is short",
    ),
    (
        "S7: build",
        "the compiler generates code for the expansion too",
    ),
    ("S7: bytes of an expansion", "the expansion has grown"),
    (
        "S7: a user's clean",
        "our crates take longer to compile than rslock's, in spite of its TLS",
    ),
    (
        "S7: a user's stripped",
        "the program contains a client for Redis with recovery, and its scripts",
    ),
    (
        "S9: server's",
        "Redis keeps holder, queue and token of each lock",
    ),
    (
        "S9: client's",
        "the client keeps timers, state and the operator's view of each lock",
    ),
    ("S9", "each lock is renewed three times in a lease"),
    ("S10", "all clients share two processors with their servers"),
    ("S11", "the search reads who waits for whom"),
    (
        "S12 same",
        "each operation writes rows in a transaction; `SELECT 1` writes nothing",
    ),
    (
        "S12 split",
        "each operation writes rows in a transaction; `SELECT 1` writes nothing",
    ),
    (
        "S12: cycles/s of 64",
        "each operation writes rows; an advisory lock lives in shared memory",
    ),
    (
        "S12: cycles/s of one key to PgAdvisoryLock's, local",
        "each handoff between processes is a transaction and a `NOTIFY`",
    ),
    (
        "S12: cycles/s of one key",
        "each handoff is a transaction and a `NOTIFY`; an advisory lock lives in shared memory",
    ),
    (
        "S12: cycles/s beside",
        "1,000 clients check their connections and the server's epoch meanwhile, on the same processors",
    ),
    (
        "S14: longest script",
        "other programs delayed the server, or a script removed many waiters",
    ),
    (
        "S14: longest function",
        "other programs delayed the server, or a function waited for another one",
    ),
];

/// Why this goal may be missed.
pub(super) fn reason(goal: &str) -> Option<&'static str> {
    let mut reasons = REASONS.iter();
    let found = reasons.find(|(begin, _)| goal.starts_with(begin));
    found.map(|(_, reason)| *reason)
}
