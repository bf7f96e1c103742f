//! How many calls, clients and names a server can serve: computed from the figures.

use std::fmt::Write as _;

use super::markdown::{Cell, cell, table};
use super::name;
use crate::peer::Contender::{
    self, AutoMutex, AutoMutexAwaited, AutoMutexLocal, AutoMutexPostgres, Distkit, PgAdvisoryLock,
    Rslock,
};
use crate::results::{Report, number};
use crate::run::Placement::{self, Both, Same, Split};
use crate::scenario::herd::place::Kind;

const CALLS: &str = "\
Computed from the figures above, for one server on this machine. At half of a rate a server answers promptly; at the
full rate it has a queue.

### What a lock costs a month

The processor time of the server. *calls/s* is what one core serves: 1,000,000 ÷ server µs. *hours a month* is the
processor time of 100 calls a second for 30 days. In S1 and S12, calls come one at a time, which costs the server
most. In S2, 64 tasks of a client call at a time; in S4, 64 tasks of eight clients want one lock. A fleet of services
is between S1 and S2. Redis uses one core, PostgreSQL a process for each connection.

";

const CLIENTS: &str = "
### Clients that one server carries

";

const MEMORY: &str = "
### Memory per name

Bytes, from S9 and S6. *1 GB holds* is 10⁹ ÷ bytes. Of PostgreSQL, it's the memory of the connection that each lock
and waiter needs.

";

/// A hundred calls a second, for thirty days: the number of calls.
const MONTH: f64 = 100.0 * 30.0 * 86_400.0;
const MICROSECONDS_AN_HOUR: f64 = 3.6e9;

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
    let cases: [(&str, Placement, &[Contender]); 4] = [
        (
            "S1",
            Same,
            &[AutoMutex, AutoMutexAwaited, Rslock, PgAdvisoryLock],
        ),
        ("S12", Same, &[AutoMutexPostgres]),
        ("S2", Split, &[AutoMutex, Rslock, PgAdvisoryLock]),
        (
            "S4",
            Split,
            &[AutoMutex, AutoMutexLocal, Rslock, PgAdvisoryLock],
        ),
    ];
    let mut rows = Vec::new();
    for (table, placement, contenders) in cases {
        for &who in contenders {
            let Some(micros) = median(report, (table, placement, who), "server_us") else {
                continue;
            };
            rows.push(vec![
                name(who.label()),
                format!("{table}, {}", placement.label()),
                number(micros),
                number(1e6 / micros),
                number(micros * MONTH / MICROSECONDS_AN_HOUR),
            ]);
        }
    }
    let header = ["", "", "server µs per call", "calls/s", "hours a month"];
    table(&header, &rows)
}

fn clients(report: &Report) -> String {
    let mut rows = Vec::new();
    let mut row = |what: &str, from: String, result: f64| {
        rows.push(vec![what.to_owned(), from, number(result)]);
    };
    if let Some(micros) = median(report, ("S1", Same, AutoMutexAwaited), "server_us") {
        row(
            "clients of one core, with one call a second each",
            format!("{} µs per call (S1, same, awaited)", number(micros)),
            1e6 / micros,
        );
    }
    let herd = |figure| {
        let summary = report.summary("S10", Both, Kind::Server.label(), figure)?;
        Some(summary.median).filter(|value| *value > 0.0)
    };
    if let Some(kilobytes) = herd("memory_kb_per_client") {
        row(
            "clients for each GB of the server's memory",
            format!("{} KB (S10)", number(kilobytes)),
            1e6 / kilobytes,
        );
    }
    if let Some(percent) = median(report, ("S9", Split, AutoMutex), "server_cpu_percent") {
        row(
            "held locks that one core renews, with a lease of 10 s",
            format!("{} % for 10,000 (S9)", number(percent)),
            LOCKS / (percent / 100.0),
        );
    }
    if let Some(cpu) = median(report, ("S6 100k", Split, AutoMutexLocal), "server_cpu") {
        row(
            "names for which tasks of a client wait, of one core",
            format!("{} % for 1,000 (S6)", number(cpu * 100.0)),
            1000.0 / cpu,
        );
    }
    if let Some(start) = herd("start_s")
        && let Some(clients) = herd("clients")
    {
        row(
            "clients a second that connect and take their first lock",
            format!("{} in {} s (S10)", number(clients), number(start)),
            clients / start,
        );
    }
    let mut text = table(&["", "measured", "result"], &rows);
    let _ = write!(
        text,
        "\nA client needs one connection to each server, however many locks it holds and however many of its tasks\n\
         wait. Redis accepts 10,000 connections by default (`maxclients`), PostgreSQL 100 (`max_connections`).\n"
    );
    text
}

fn memory(report: &Report) -> String {
    let mut rows = Vec::new();
    let figures = [
        ("S9 memory", "server_bytes_held", "server, a held name"),
        ("S9 memory", "server_bytes_idle", "server, a released name"),
        ("S9 memory", "client_bytes_held", "client, a held name"),
        ("S6", "server_bytes_per_waiter", "server, a waiter"),
        ("S6", "bytes_per_waiter", "client, a waiter"),
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
