use super::*;
use crate::measure::Values;
use crate::results::{Machine, Measurement};

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
    let row = "| calls/s, many locks | S2 split, auto-mutex, 2 threads | 80.0k | rslock, 2 threads 100.0k | 1 of 1 | ";
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
    let row =
        "| requests/s, waiting | S6 split, auto-mutex | 0.91 | `PgAdvisoryLock` 0 | 1 of 2 | ";
    assert!(section(0.91).contains(row), "{}", section(0.91));
    assert_eq!(section(0.0), words::NO_LOSSES);
}

#[test]
fn of_several_losses_the_worst_is_shown() {
    let text = losses::section(&report(&[
        ("S3", Contender::AutoMutex, &[("per_second", 500.0)]),
        ("S3", Contender::Rslock, &[("per_second", 600.0)]),
        ("S4", Contender::AutoMutex, &[("per_second", 500.0)]),
        ("S4", Contender::Rslock, &[("per_second", 900.0)]),
    ]));
    let row = "| calls/s, one lock | S4 split, auto-mutex | 500 | rslock 900 | 2 of 2 | ";
    assert!(text.contains(row), "{text}");
    assert!(!text.contains("S3"), "{text}");
}

#[test]
fn a_repeated_reason_is_said_once() {
    let rows = ["a", "a", "b", "a"].map(|reason| vec![reason.to_owned()]);
    let rows = markdown::said_once(rows.to_vec()).concat();
    assert_eq!(rows, ["a", "as above", "b", "a"]);
}

#[test]
fn every_reason_is_that_of_a_goal() {
    let goals = crate::gate::judge(&report(&[]));
    for (begin, reason) in words::REASONS {
        let has_it = |goal: &Verdict| words::reason(&goal.what) == Some(*reason);
        assert!(goals.iter().any(has_it), "{begin}");
    }
}

#[test]
fn every_goal_that_depends_on_the_machine_has_a_reason() {
    let mut goals = crate::gate::judge(&report(&[]));
    goals.retain(|goal| !goal.count && words::reason(&goal.what).is_none());
    let missing: Vec<_> = goals.iter().map(|goal| &goal.what).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_missed_goal_is_shown_with_its_reason() {
    let mut report = report(&[
        ("S1", Contender::AutoMutexAwaited, &[("cycle_p50_us", 96.0)]),
        ("S1", Contender::Rslock, &[("cycle_p50_us", 100.0)]),
    ]);
    report.verdicts = crate::gate::judge(&report);
    let page = render(&report);
    let goal = "S1 split: cycle with an awaited unlock to rslock's";
    let reason = words::reason(goal).unwrap();
    let row = format!("| {goal} | ≤ 0.95 | 0.96 | {reason} |");
    assert!(page.contains(&row), "{page}");
}

#[test]
fn sizes_follow_from_the_figures() {
    let report = report(&[
        ("S2", Contender::AutoMutex, &[("server_us", 8.0)]),
        ("S9", Contender::AutoMutex, &[("server_cpu_percent", 2.0)]),
        (
            "S9 memory",
            Contender::AutoMutex,
            &[("server_bytes_held", 500.0)],
        ),
    ]);
    let text = sizing::section(&report);
    let rows = [
        // 8 µs, 259,200,000 times.
        "| auto-mutex | S2, split | 8.00 | 125.0k | 0.58 |",
        "| 2.00 % for 10,000 (S9) | 500.0k |",
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
        page.contains("*2 rounds; others used 0.50 processors.*"),
        "{page}"
    );
    assert!(page.contains("](pictures/bench-s1.svg)") && !page.contains("\n## S2"));
}

#[test]
fn placements_are_columns_where_they_matter() {
    let mut report = report(&[(
        "S1",
        Contender::AutoMutex,
        &[("cycle_p50_us", 80.0), ("requests", 1.0)],
    )]);
    let mut same = report.measurements[0].clone();
    same.placement = Placement::Same;
    same.values = [("cycle_p50_us", 30.0), ("requests", 2.0)]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
    report.measurements.push(same);
    let page = render(&report);
    assert!(
        page.contains("|  | p50 µs, same | p50 µs, split | requests |\n|---|---:|---:|---:|\n| auto-mutex | 30.0 | 80.0 | 1.00 |\n"),
        "{page}"
    );
}

#[test]
fn the_block_of_the_readme_is_replaced_and_nothing_else() {
    let readme = format!("above\n{BEGIN}old\n{END}\nbelow\n");
    let now = with_block(&readme, "new\n").unwrap();
    assert_eq!(now, format!("above\n{BEGIN}new\n{END}\nbelow\n"));
    assert_eq!(with_block("no block", "new\n"), None);
}
