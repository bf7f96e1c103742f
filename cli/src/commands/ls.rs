//! `auto-mutex ls`

use auto_mutex::operator::Lock;

use crate::args::{Format, Global, Ls};
use crate::exit::{Exit, Outcome};
use crate::output::json::{self, Listed};
use crate::output::words::{date, held, holders, name, short, used};
use crate::output::{list, table};
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
    let is_asked_for = |lock: &Lock| {
        let is_long = |least| lock.oldest_wait().max(lock.held()) > Some(least);
        // Standbys wait for as long as a leader leads.
        let narrows = args.waiting || args.longer_than.is_some();
        (args.all || lock.is_in_use())
            && !(narrows && lock.is_seat())
            && !(args.waiting && lock.waiters.is_empty())
            && args.longer_than.is_none_or(is_long)
    };
    let operator = look(global)?;
    let pattern = args.within.pattern(&args.pattern);
    let names = match args.all {
        true => operator.names(&pattern),
        false => operator.names_in_use(&pattern),
    };
    let is_table = global.output.unwrap_or(Format::Table) == Format::Table;
    let (mut listed, mut rows) = (Vec::new(), Vec::new());
    each_lock(&operator, names, |lock| match is_table {
        _ if !is_asked_for(&lock) => {}
        true => rows.push(row(&lock)),
        false => listed.push(Listed::of(&lock)),
    })?;
    rows.sort_by(|a, b| a[0].cmp(&b[0]));
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    list(global, "locks", &listed, |out| {
        table::write(out, HEADINGS, &rows, "")
    })?;
    Ok(Exit::Done)
}

fn row(lock: &Lock) -> [String; 8] {
    let none = || "-".to_owned();
    let first = lock.holders.iter().find(|hold| !hold.kept);
    [
        name(&lock.name).into_owned(),
        lock.kind
            .map_or_else(none, |kind| json::kind(kind).to_owned()),
        used(lock.kind, lock.used, lock.capacity),
        holders(lock),
        first.map_or_else(none, |first| date(first.since)),
        held(lock),
        lock.waiting().to_string(),
        lock.oldest_wait().map_or_else(none, short),
    ]
}
