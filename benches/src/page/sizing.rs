//! How many calls, clients and names a server can serve: computed from the figures.

use std::fmt::Write as _;

use super::markdown::{Cell, cell, table};
use super::name;
use crate::peer::Contender::{
    self, AutoMutex, AutoMutexAwaited, AutoMutexLocal, AutoMutexThreads, Distkit, PgAdvisoryLock,
    Rslock, RslockThreads,
};
use crate::results::{Report, number};
use crate::run::Placement::{self, Both, Same, Split};

const CALLS: &str = "\
These figures are computed from those above, for one server on the machine of this page. Leave room: at half of a rate a server
answers promptly, at the full rate it has a queue.

### Calls a second that one core serves

*calls/s = 1,000,000 ÷ server µs per call.* Requests that come one at a time cost the server most, because it wakes up for each. If many
tasks of a client call at a time, their requests travel together. Expect a fleet of services to be between the first two groups.
One Redis server uses one core for commands. PostgreSQL uses a process for each connection, so its figure is for each core.

";

const CLIENTS: &str = "
### Clients that one server carries

";

const MEMORY: &str = "
### Memory per name

Bytes, from S9 and S6. *1 GB holds* is 10⁹ ÷ bytes. Of PostgreSQL, the memory is that of the connection which each held lock and
each waiter needs.

";

const LOCKS: f64 = 10_000.0;

fn median(
    report: &Report,
    (table, placement, who): (&str, Placement, Contender),
    figure: &str,
) -> Option<f64> {
    let summary = report.summary(table, placement, who.label(), figure)?;
    Some(summary.median).filter(|value| *value > 0.0)
}

pub(super) fn section(report: &Report) -> String {
    let mut text = String::from(CALLS);
    text += &calls(report);
    text += CLIENTS;
    text += &clients(report);
    text += MEMORY;
    text += &memory(report);
    text
}

fn calls(report: &Report) -> String {
    let cases: [(&str, Placement, &str, &[Contender]); 3] = [
        (
            "S1",
            Same,
            "one request at a time",
            &[AutoMutex, AutoMutexAwaited, Rslock, Distkit, PgAdvisoryLock],
        ),
        (
            "S2",
            Split,
            "64 tasks of one client",
            &[
                AutoMutexThreads,
                AutoMutex,
                AutoMutexAwaited,
                RslockThreads,
                Distkit,
                PgAdvisoryLock,
            ],
        ),
        (
            "S4",
            Split,
            "64 tasks of eight clients want one lock",
            &[AutoMutex, AutoMutexLocal, Rslock, Distkit, PgAdvisoryLock],
        ),
    ];
    let mut rows = Vec::new();
    for (table, placement, what, contenders) in cases {
        for &who in contenders {
            let Some(micros) = median(report, (table, placement, who), "server_us") else {
                continue;
            };
            rows.push(vec![
                name(who.label()),
                format!("{what} ({table}, {})", placement.label()),
                number(micros),
                number(1e6 / micros),
            ]);
        }
    }
    table(
        &["", "", "server µs per call", "calls/s of one core"],
        &rows,
    )
}

fn clients(report: &Report) -> String {
    let mut rows = Vec::new();
    let mut row = |what: &str, formula: &str, from: String, result: f64| {
        rows.push(vec![
            what.to_owned(),
            formula.to_owned(),
            from,
            number(result),
        ]);
    };
    let herd = ("S10", Both, AutoMutex);
    if let Some(micros) = median(report, ("S1", Same, AutoMutexAwaited), "server_us") {
        row(
            "clients that one core serves, with one call a second each",
            "1,000,000 ÷ server µs per call",
            format!("{} µs (S1, same, unlock awaited)", number(micros)),
            1e6 / micros,
        );
    }
    if let Some(kilobytes) = median(report, herd, "memory_kb_per_client") {
        row(
            "clients for each GB of the server's memory",
            "1,000,000 ÷ KB per client, with one connection and one name",
            format!("{} KB (S10)", number(kilobytes)),
            1e6 / kilobytes,
        );
    }
    if let Some(percent) = median(report, ("S9", Split, AutoMutex), "server_cpu_percent") {
        row(
            "held locks that one core renews, with a lease of 10 s",
            "10,000 ÷ the part of a core that 10,000 locks need",
            format!("{} % (S9)", number(percent)),
            LOCKS / (percent / 100.0),
        );
    }
    if let Some(per_name) = median(
        report,
        ("S6 100k", Split, AutoMutexLocal),
        "requests_per_name",
    ) && let Some(cpu) = median(report, ("S6 100k", Split, AutoMutexLocal), "server_cpu")
    {
        row(
            "names for which tasks of a client wait, that one core serves",
            "1,000 ÷ the part of a core that 1,000 such names need",
            format!(
                "{} %, {} requests/s and name (S6)",
                number(cpu * 100.0),
                number(per_name)
            ),
            1000.0 / cpu,
        );
    }
    if let Some(start) = median(report, herd, "start_s")
        && let Some(clients) = median(report, herd, "clients")
    {
        row(
            "clients a second that connect and take their first lock",
            "clients ÷ time until all were served",
            format!("{} in {} s (S10)", number(clients), number(start)),
            clients / start,
        );
    }
    let mut text = table(&["what", "formula", "measured", "result"], &rows);
    let _ = write!(
        text,
        "\nA client needs one connection to each server, however many locks it holds and however many of its tasks wait. Redis accepts 10,000\n\
         connections by default (`maxclients`). `PgAdvisoryLock` needs a connection for each lock that is held or waited for;\n\
         PostgreSQL accepts 100 by default (`max_connections`).\n"
    );
    text
}

fn memory(report: &Report) -> String {
    let mut rows = Vec::new();
    let figures = [
        ("S9 memory", "server_bytes_held", "server, a held name"),
        ("S9 memory", "server_bytes_idle", "server, a released name"),
        ("S9 memory", "client_bytes_held", "client, a held name"),
        (
            "S6",
            "server_bytes_per_waiter",
            "server, a waiter for the only name",
        ),
        (
            "S6",
            "bytes_per_waiter",
            "client, a waiter for the only name",
        ),
        (
            "S6 100k",
            "server_bytes_per_waiter",
            "server, a waiter (100 for each of 1,000 names)",
        ),
        (
            "S6 100k",
            "bytes_per_waiter",
            "client, a waiter (100 for each of 1,000 names)",
        ),
    ];
    let libraries = [AutoMutex, Rslock, Distkit, PgAdvisoryLock];
    for (from, figure, what) in figures {
        let found = |who: Contender| report.summary(from, Split, who.label(), figure);
        if libraries.iter().all(|who| found(*who).is_none()) {
            continue;
        }
        let mut row = vec![what.to_owned()];
        row.extend(libraries.map(|who| cell(found(who), Cell::Median)));
        let ours = found(AutoMutex).map(|it| it.median).filter(|it| *it >= 1.0);
        row.push(ours.map_or("–".to_owned(), |bytes| number(1e9 / bytes)));
        rows.push(row);
    }
    let names = libraries.map(|who| name(who.label()));
    let mut header = vec![""];
    header.extend(names.iter().map(String::as_str));
    header.push("1 GB holds, auto-mutex");
    table(&header, &rows)
}
