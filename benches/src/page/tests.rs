use super::*;
use crate::measure::Values;
use crate::results::{Machine, Measurement};
use crate::run::Placement::{self, Split};

fn machine() -> Machine {
    Machine {
        processor: "Test CPU".to_owned(),
        processors: 2,
        redis: "7.0.15".to_owned(),
        libraries: [("rslock".to_owned(), "0.10.0".to_owned())].into(),
        date: "2026-01-02".to_owned(),
        seconds: 1.5,
        ..Machine::default()
    }
}

/// A table, a contender, and its figures.
type Row<'a> = (&'a str, Contender, &'a [(&'a str, f64)]);

fn report(rows: &[Row<'_>]) -> Report {
    let mut report = Report::new(machine());
    for (table, who, values) in rows {
        let values: Values = values
            .iter()
            .map(|(name, it)| ((*name).to_owned(), *it))
            .collect();
        report.measurements.push(Measurement {
            table: (*table).to_owned(),
            placement: Placement::Split,
            who: who.label().to_owned(),
            round: 0,
            values,
        });
    }
    report
}

#[test]
fn the_three_numbers_are_those_of_two_processors() {
    let cycle = |micros| [("cycle_p50_us", micros), ("requests", 1.0)];
    let report = report(&[
        ("S1", Contender::AutoMutex, &cycle(80.0)),
        ("S1", Contender::AutoMutexAwaited, &cycle(1600.0)),
        ("S1", Contender::Rslock, &cycle(140.0)),
        (
            "S5",
            Contender::AutoMutexAwaited,
            &[("handoff_p50_us", 300.0)],
        ),
    ]);
    let block = numbers::block(&report);
    let lines: Vec<_> = block.lines().collect();
    assert_eq!(
        lines[0],
        "|  | auto-mutex | rslock 0.10.0 | sqlx `PgAdvisoryLock` |"
    );
    let uncontended =
        "| an uncontended call | 80.0 µs; 1.60 ms with `unlock().await` | 140 µs | – |";
    assert_eq!(lines[2], uncontended);
    assert_eq!(lines[3], "| a handoff between processes | 300 µs | – | – |");
    assert!(
        block.contains("2026-01-02 on 2 × Test CPU, Redis 7.0.15."),
        "{block}"
    );
    assert!(render(&report).contains(&format!("{BEGIN}{block}{END}")));
}

#[test]
fn another_library_is_ahead_only_where_its_figures_are() {
    let section = |ours, theirs| {
        losses::section(&report(&[
            ("S2", Contender::AutoMutexThreads, &[("per_second", ours)]),
            ("S2", Contender::RslockThreads, &[("per_second", theirs)]),
            // Not a library.
            ("S2", Contender::Raw, &[("per_second", 1e6)]),
        ]))
    };
    let behind = section(80_000.0, 100_000.0);
    let row =
        "| S2, split | calls/s | auto-mutex, 2 threads | 80.0k | rslock, 2 threads 100.0k (0.80) |";
    assert!(behind.contains(row), "{behind}");
    assert_eq!(section(97_000.0, 100_000.0), words::NO_LOSSES);
    assert_eq!(section(120_000.0, 100_000.0), words::NO_LOSSES);
}

#[test]
fn where_lower_is_better_a_library_with_less_is_ahead() {
    let section = |ours| {
        losses::section(&report(&[
            ("S6", Contender::AutoMutex, &[("requests_per_second", ours)]),
            ("S6", Contender::Rslock, &[("requests_per_second", 1000.0)]),
            (
                "S6",
                Contender::PgAdvisoryLock,
                &[("requests_per_second", 0.0)],
            ),
        ]))
    };
    let row = "| S6, split | requests/s | auto-mutex | 0.91 | `PgAdvisoryLock` 0 |";
    assert!(section(0.91).contains(row), "{}", section(0.91));
    assert_eq!(section(0.0), words::NO_LOSSES);
}

#[test]
fn sizes_follow_from_the_figures() {
    let report = report(&[
        ("S2", Contender::AutoMutexThreads, &[("server_us", 8.0)]),
        ("S9", Contender::AutoMutex, &[("server_cpu_percent", 2.0)]),
        (
            "S9 memory",
            Contender::AutoMutex,
            &[("server_bytes_held", 500.0)],
        ),
    ]);
    let text = sizing::section(&report);
    let rows = [
        "| auto-mutex, 2 threads | 64 tasks of one client (S2, split) | 8.00 | 125.0k |",
        "| 10,000 ÷ the part of a core that 10,000 locks need | 2.00 % (S9) | 500.0k |",
        "| server, a held name | 500 | – | – | – | 2.00M |",
    ];
    for row in rows {
        assert!(text.contains(row), "{row}\n{text}");
    }
}

#[test]
fn a_section_has_what_was_measured_and_how_often() {
    let mut report = report(&[("S1", Contender::AutoMutex, &[("cycle_p50_us", 80.0)])]);
    let mut again = report.measurements[0].clone();
    again.round = 1;
    again.values = [
        ("cycle_p50_us".to_owned(), 90.0),
        ("foreign_cpu".to_owned(), 0.5),
    ]
    .into();
    report.measurements.push(again);
    let page = render(&report);
    assert!(
        page.contains("|  | p50 µs |\n|---|---:|\n| auto-mutex | 85.0 (80.0–90.0) |\n"),
        "{page}"
    );
    assert!(
        page.contains("2 rounds. Other programs used at most 0.50 processors"),
        "{page}"
    );
    assert!(page.contains("](pictures/bench-s1.svg)") && !page.contains("\n## S2"));
    assert!(report.rows("S1") == [(Split, "auto-mutex")]);
}

#[test]
fn the_block_of_the_readme_is_replaced_and_nothing_else() {
    let readme = format!("above\n{BEGIN}old\n{END}\nbelow\n");
    let now = with_block(&readme, "new\n").unwrap();
    assert_eq!(now, format!("above\n{BEGIN}new\n{END}\nbelow\n"));
    assert_eq!(with_block("no block", "new\n"), None);
}
