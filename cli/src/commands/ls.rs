//! `auto-mutex ls`

use std::io::Write as _;

use auto_mutex::operator::Lock;

use crate::args::{Format, Global, Ls};
use crate::exit::{Exit, Outcome};
use crate::filter::Filter;
use crate::output::json::{self, List, Listed};
use crate::output::words::{date, name, process, short, used};
use crate::output::{Progress, stdout, table};
use crate::store::{each_lock, look};

const HEADINGS: [&str; 8] = [
    "NAME",
    "KIND",
    "USED",
    "HOLDER",
    "SINCE",
    "HELD",
    "WAITERS",
    "OLDEST WAIT",
];

pub(crate) fn run(global: &Global, args: &Ls) -> Outcome {
    let filter = Filter {
        waiting: args.waiting,
        longer_than: args.longer_than,
        all: args.all,
    };
    let operator = look(global)?;
    let mut out = stdout();
    let format = global.output.unwrap_or(Format::Table);
    let (mut rows, mut listed) = (Vec::new(), Vec::new());
    let pattern = args.within.pattern(&args.pattern);
    let names = match args.all {
        true => operator.names(&pattern),
        false => operator.names_in_use(&pattern),
    };
    each_lock(&operator, names, &Progress::new(), |lock| {
        if filter.has(&lock) {
            match format {
                Format::Table => rows.push((lock.name.clone(), row(&lock))),
                _ => listed.push(Listed::of(&lock)),
            }
        }
        Ok(())
    })?;
    match format {
        Format::Table => {
            rows.sort();
            let rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
            table::write(&mut out, HEADINGS, &rows, "")?;
        }
        format => {
            listed.sort_by(|a, b| a.name.cmp(&b.name));
            let mut list = List::begin(&mut out, "locks", format == Format::Jsonl)?;
            listed.iter().try_for_each(|lock| list.item(lock))?;
            list.end()?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn row(lock: &Lock) -> [String; 8] {
    let none = || "-".to_owned();
    let first = lock.holders.first();
    let holder = first.map_or_else(none, |first| match lock.holders.len() {
        1 => process(&first.who),
        count => format!("{} +{}", process(&first.who), count - 1),
    });
    [
        name(&lock.name).into_owned(),
        lock.kind
            .map_or_else(none, |kind| json::kind(kind).to_owned()),
        used(lock.kind, lock.used, lock.capacity),
        holder,
        first.map_or_else(none, |first| date(first.since)),
        lock.held().map_or_else(none, short),
        lock.waiters.len().to_string(),
        lock.oldest_wait().map_or_else(none, short),
    ]
}
