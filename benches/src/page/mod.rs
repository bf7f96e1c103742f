//! `docs/benchmarks.md`, its plots, and the three numbers of the README, from the figures of a report.
//!
//! The texts say how things work and what is measured. What depends on the figures, such as where another library is
//! ahead, is computed.

mod losses;
mod markdown;
mod numbers;
mod sizing;
#[cfg(test)]
mod tests;
mod words;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use self::markdown::{Cell, cell, code, said_once, table, wrap};
use crate::Failure;
use crate::gate::Verdict;
use crate::peer::Contender;
use crate::report::plot;
use crate::results::{Report, number};
use crate::run::Placement::{self, Split};
use crate::scenario::{self, Column, OnPage, Plot, Scenario, Table};

const PAGE: &str = "docs/benchmarks.md";
const PICTURES: &str = "docs/pictures";
/// How the names of the plots begin.
const PICTURE: &str = "bench-";
const README: &str = "README.md";
const BEGIN: &str = "<!-- three numbers -->\n";
const END: &str = "<!-- end -->";

/// Rewrites the page, its plots, and the block of the README, in the working tree `root`.
pub(crate) fn write(report: &Report, root: &Path) -> Result<(), Failure> {
    let pictures = root.join(PICTURES);
    for entry in fs::read_dir(&pictures)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(PICTURE) {
            fs::remove_file(path)?;
        }
    }
    let shown = |scenario: &&&Scenario| words::of(scenario.id).is_some();
    let scenarios = scenario::ALL.iter().filter(shown);
    for table in scenarios.flat_map(|scenario| scenario.tables) {
        if let Some(svg) = plot::plot(report, table) {
            fs::write(pictures.join(picture(table)), svg)?;
        }
    }
    fs::write(root.join(PAGE), render(report))?;
    let readme = root.join(README);
    let text = fs::read_to_string(&readme)?;
    let text = with_block(&text, &numbers::block(report))
        .ok_or_else(|| format!("{README} has no block between {BEGIN:?} and {END:?}"))?;
    Ok(fs::write(readme, text)?)
}

/// Replaces the three numbers in a text that has them already.
fn with_block(text: &str, block: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{block}{END}{after}"))
}

fn picture(table: &Table) -> String {
    format!(
        "{PICTURE}{}.svg",
        table.name.to_lowercase().replace(' ', "-")
    )
}

/// Returns the page.
fn render(report: &Report) -> String {
    let mut page = String::from(words::TOP);
    let _ = write!(
        page,
        "\n## Three numbers\n\n{BEGIN}{}{END}\n\n{}",
        numbers::block(report),
        words::AFTER_NUMBERS,
    );
    page += "\n## Where others are ahead\n\n";
    page += &losses::section(report);
    page += "\n## How it is measured\n\n";
    page += &method(report);
    for scenario in scenario::ALL {
        page += &section(report, scenario);
    }
    page += "\n## Sizing\n\n";
    page += &sizing::section(report);
    page += &goals(report);
    page
}

fn method(report: &Report) -> String {
    let machine = &report.machine;
    let mut text = words::METHOD.replace("SECONDS", &number(machine.seconds));
    let mut rows = vec![
        vec![
            "processors".to_owned(),
            format!("{} × {}", machine.processors, machine.processor),
        ],
        vec!["kernel".to_owned(), format!("Linux {}", machine.kernel)],
        vec!["servers".to_owned(), servers(report)],
        vec!["Rust".to_owned(), machine.rust.clone()],
    ];
    let libraries = machine.libraries.iter();
    let libraries: Vec<_> = libraries.map(|(name, it)| format!("{name} {it}")).collect();
    rows.push(vec!["libraries".to_owned(), libraries.join(", ")]);
    rows.push(vec![
        "commit of auto-mutex".to_owned(),
        code(&machine.commit),
    ]);
    rows.push(vec!["day".to_owned(), machine.date.clone()]);
    text += &table(&["", "measured on"], &rows);
    if !report.notes.is_empty() {
        let notes = format!("Not measured: {}.", report.notes.join("; "));
        let _ = write!(text, "\n{}", wrap(&notes));
    }
    text
}

fn servers(report: &Report) -> String {
    let machine = &report.machine;
    match &*machine.postgres {
        "" => format!("Redis {}", machine.redis),
        postgres => format!("Redis {}, PostgreSQL {postgres}", machine.redis),
    }
}

/// Returns the section of a scenario, or nothing if it was not measured.
fn section(report: &Report, scenario: &Scenario) -> String {
    let measured = |table: &&Table| !report.rows(table.name).is_empty();
    let tables: Vec<_> = scenario.tables.iter().filter(measured).collect();
    let Some(words) = words::of(scenario.id).filter(|_| !tables.is_empty()) else {
        return String::new();
    };
    let mut text = format!("\n## {}: {}\n\n{}", scenario.id, words.title, words.about);
    for table in tables {
        text += &figures(report, table);
    }
    text
}

/// Returns a table of medians, after its plot, whose title is in the picture. If all columns are hidden, the plot is
/// all.
fn figures(report: &Report, table: &Table) -> String {
    let title = escape(table.title);
    let mut text = match plot::plot(report, table) {
        Some(_) => format!("\n![{title}](pictures/{})\n", picture(table)),
        None => format!("\n{}", wrap(&format!("**{title}.**"))),
    };
    let mut rows = report.rows(table.name);
    let has = |who: Contender| rows.iter().any(|(_, row)| *row == who.label());
    let has_rslock = has(Contender::Rslock);
    rows.retain(|(_, who)| match Contender::of_label(who) {
        Some(Contender::Distkit) => !has_rslock,
        who => who.is_none_or(|who| !who.is_external()),
    });
    let mut placements: Vec<_> = rows.iter().map(|(placement, _)| *placement).collect();
    placements.dedup();
    let mut names: Vec<&str> = Vec::new();
    for (_, who) in &rows {
        if !names.contains(who) {
            names.push(who);
        }
    }
    names.sort_by_key(|who| Contender::ALL.iter().position(|it| it.label() == *who));
    let found = |column: &Column, placement: Option<Placement>, who: &str| {
        let wanted = |(at, name): &&(Placement, &str)| {
            *name == who && placement.is_none_or(|placement| placement == *at)
        };
        let mut found = rows.iter().filter(wanted).collect::<Vec<_>>();
        found.sort_by_key(|(at, _)| *at != Split);
        let (at, _) = found.first()?;
        report.summary(table.name, *at, who, column.key)
    };
    let by_placement = |column: &&'static Column| match column.page {
        OnPage::Hidden => Vec::new(),
        OnPage::ByPlacement if placements.len() > 1 => {
            let columns = placements.iter().map(|it| (*column, Some(*it)));
            columns.collect()
        }
        _ => vec![(*column, None)],
    };
    let columns: Vec<_> = table
        .columns
        .iter()
        .flat_map(|column| by_placement(&column))
        .filter(|(column, at)| names.iter().any(|who| found(column, *at, who).is_some()))
        .collect();
    if columns.is_empty() {
        return text;
    }
    let headings: Vec<_> = columns
        .iter()
        .map(|(column, at)| match at {
            Some(at) => format!("{}, {}", column.heading, at.label()),
            None => column.heading.to_owned(),
        })
        .collect();
    let mut header = vec![""];
    header.extend(headings.iter().map(String::as_str));
    let lines: Vec<Vec<String>> = names
        .iter()
        .map(|who| {
            let mut line = vec![name(who)];
            line.extend(columns.iter().map(|(column, at)| {
                let kind = match table.plot == Plot::Figure(column.key) {
                    true => Cell::Range,
                    false => Cell::Median,
                };
                cell(found(column, *at, who), kind)
            }));
            line
        })
        .collect();
    let _ = write!(text, "\n{}", markdown::table(&header, &lines));
    let _ = write!(text, "\n{}\n", circumstances(report, table, &rows));
    text
}

/// Returns how often the rows of a table were measured, and what else ran meanwhile.
fn circumstances(report: &Report, table: &Table, rows: &[(Placement, &str)]) -> String {
    let counts = rows.iter().map(|(placement, who)| {
        let all = report.measurements.iter();
        all.filter(|it| it.table == table.name && it.placement == *placement && it.who == *who)
            .map(|it| it.round)
            .max()
            .map_or(0, |last| last + 1)
    });
    let (least, most) = counts.fold((usize::MAX, 0), |(least, most), it| {
        (least.min(it), most.max(it))
    });
    let rounds = match (least, most) {
        (_, 1) => "One round".to_owned(),
        (least, most) if least == most => format!("{most} rounds"),
        (least, most) => format!("{least} to {most} rounds"),
    };
    let busiest = rows
        .iter()
        .filter_map(|(placement, who)| report.summary(table.name, *placement, who, "foreign_cpu"))
        .map(|summary| summary.median)
        .reduce(f64::max);
    match busiest {
        Some(busiest) => format!("*{rounds}; others used {} processors.*", number(busiest)),
        None => format!("*{rounds}.*"),
    }
}

/// Returns a contender's name for the page.
fn name(who: &str) -> String {
    match Contender::of_label(who) {
        Some(
            Contender::PgAdvisoryLock
            | Contender::SelectForUpdate
            | Contender::TwoSelects
            | Contender::AutoMutexAttribute,
        ) => code(who),
        Some(_) => who.to_owned(),
        None => escape(who),
    }
}

/// Escapes what Markdown would take for a link or for HTML.
fn escape(text: &str) -> String {
    text.replace("memory://", "`memory://`")
        .replace("#[auto_mutex(key)]", "`#[auto_mutex(key)]`")
        .replace("#[auto_mutex]", "`#[auto_mutex]`")
}

/// Returns the goals that were missed.
fn goals(report: &Report) -> String {
    let measured: Vec<&Verdict> = report
        .verdicts
        .iter()
        .filter(|it| it.found.is_some())
        .collect();
    if measured.is_empty() {
        return String::new();
    }
    let missed: Vec<_> = measured.iter().filter(|it| !it.met).collect();
    let mut text = format!("\n## Goals\n\n{}", words::GOALS);
    if missed.is_empty() {
        let _ = write!(
            text,
            "\nThis run met all {} goals that it measured.\n",
            measured.len()
        );
        return text;
    }
    let _ = write!(
        text,
        "\nThis run measured {} goals and met {}. These were missed:\n\n",
        measured.len(),
        measured.len() - missed.len()
    );
    let rows: Vec<_> = missed
        .iter()
        .map(|it| {
            vec![
                escape(&it.what),
                it.limit.to_string(),
                cell(it.found, Cell::Range),
                words::reason(&it.what).unwrap_or("–").to_owned(),
            ]
        })
        .collect();
    let header = ["goal", "limit", "measured", "reason"];
    text + &table(&header, &said_once(rows))
}
