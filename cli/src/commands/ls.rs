//! `auto-mutex ls`

use auto_mutex::operator::Lock;

use crate::args::{Format, Global, Ls};
use crate::exit::{Exit, Failure, Outcome};
use crate::filter::Filter;
use crate::output::json::{self, List, Listed};
use crate::output::table::Stream;
use crate::output::words::{date, process, short, used};
use crate::output::{Progress, stdout};
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
    let progress = Progress::new();
    let format = global.output.unwrap_or(Format::Table);
    let each = |each: &mut dyn FnMut(Lock) -> Result<(), Failure>| {
        let names = match args.all {
            true => operator.names(&args.pattern),
            false => operator.names_in_use(&args.pattern),
        };
        each_lock(&operator, names, &progress, |lock| {
            match filter.has(&lock) {
                true => each(lock),
                false => Ok(()),
            }
        })
    };
    match format {
        Format::Table => {
            let mut table = Stream::new(&mut out, &HEADINGS);
            each(&mut |lock| {
                if table.is_about_to_write() {
                    progress.make_room();
                }
                table.row(row(&lock))
            })?;
            table.end()?;
        }
        format => {
            let mut list = List::begin(&mut out, "locks", format == Format::Jsonl)?;
            each(&mut |lock| {
                progress.make_room();
                list.item(&Listed::of(&lock))
            })?;
            list.end()?;
        }
    }
    Ok(Exit::Done)
}

fn row(lock: &Lock) -> Vec<String> {
    let none = || "-".to_owned();
    let first = lock.holders.first();
    let holder = first.map_or_else(none, |first| match lock.holders.len() {
        1 => process(&first.who),
        count => format!("{} +{}", process(&first.who), count - 1),
    });
    vec![
        lock.name.clone(),
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
