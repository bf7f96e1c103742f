//! `auto-mutex leaders`

use auto_mutex::operator::Lock;

use crate::args::{Global, Leaders};
use crate::exit::{Exit, Outcome};
use crate::output::json::Seat;
use crate::output::words::{clean, date, name, process};
use crate::output::{list, table};
use crate::store::{in_use, look};

const HEADINGS: [&str; 7] = [
    "NAME", "LEADER", "VALUE", "TERM", "SINCE", "STANDBYS", "WATCHERS",
];

pub(crate) fn run(global: &Global, args: &Leaders) -> Outcome {
    let mut seats = in_use(&look(global)?, &args.within.pattern(&args.pattern))?;
    seats.retain(Lock::is_seat);
    seats.sort_by(|a, b| a.name.cmp(&b.name));
    let documents: Vec<_> = seats.iter().map(Seat::of).collect();
    list(global, "leaders", &documents, |out| {
        let rows: Vec<_> = seats.iter().map(row).collect();
        table::write(out, HEADINGS, &rows, "")
    })?;
    Ok(Exit::Done)
}

fn row(seat: &Lock) -> [String; 7] {
    let of_leader = seat.leader().map(|leader| {
        let value = clean(leader.value.as_deref().unwrap_or_default()).into_owned();
        let (term, since) = (leader.token.to_string(), date(leader.since));
        [process(&leader.who), value, term, since]
    });
    let of_leader = of_leader.unwrap_or_default();
    let [leader, value, term, since] = of_leader.map(|text| match text.is_empty() {
        true => "-".to_owned(),
        false => text,
    });
    let name = name(&seat.name).into_owned();
    let (standbys, watchers) = (seat.waiters.len().to_string(), seat.watchers.to_string());
    [name, leader, value, term, since, standbys, watchers]
}
