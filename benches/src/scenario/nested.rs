//! S11: the cost of the search for deadlocks, where all tasks of a crowd hold a lock and wait for the same one.

use super::{Bench, Column, FOREIGN, Plot, Scenario, Table};
use crate::Failure;
use crate::clock;
use crate::job::{Job, Nested};
use crate::measure::Values;
use crate::peer::Contender;
use crate::run::{Child, Placement, Window, window};
use crate::server::Server;
use crate::worker::Found;
use crate::worker::talk::Span;

pub(super) const NAME: &str = "S11";

const CLIENTS: usize = 20;
const CROWD: usize = 2_000;
const LARGE_CROWD: usize = 10_000;

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S11: tasks of 20 clients, each inside a lock of its own, wait for one lock; the server's processor",
        columns: &[
            Column::new("off_percent", "2,000, no search: %").hidden(),
            Column::new("on_percent", "2,000: %").hidden(),
            Column::new("large_percent", "10,000: %").hidden(),
            Column::new("to_off", "to no search"),
            Column::new("to_small", "10,000 to 2,000"),
            Column::new("found_s", "found in s"),
            Column::new("found_large_s", "of 10,000: in s"),
            FOREIGN,
        ],
        plot: Plot::None,
    }],
    counts: false,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let (rounds, seconds) = match options.quick {
        true => (1, 4.0),
        false if options.page => (1, 10.0),
        false => (options.few_repetitions(), 20.0),
    };
    let ours = [Contender::AutoMutex];
    bench.rounds(NAME, Placement::Split, &ours, rounds, |server, _| {
        let (off, _) = measure(server, CROWD, false, seconds)?;
        let (on, found) = measure(server, CROWD, true, seconds)?;
        let (large, found_large) = measure(server, LARGE_CROWD, true, seconds)?;
        let values = [
            ("off_percent", off["server_cpu"] * 100.0),
            ("on_percent", on["server_cpu"] * 100.0),
            ("large_percent", large["server_cpu"] * 100.0),
            ("to_off", on["server_cpu"] / off["server_cpu"]),
            ("to_small", large["server_cpu"] / on["server_cpu"]),
            ("found_s", found),
            ("found_large_s", found_large),
            ("foreign_cpu", on["foreign_cpu"]),
        ];
        Ok(values.map(|(name, value)| (name.to_owned(), value)).into())
    })
}

/// Returns also the time in which a deadlock was found, in seconds.
fn measure(
    server: &mut Server,
    tasks: usize,
    searches: bool,
    seconds: f64,
) -> Result<(Values, f64), Failure> {
    server.clear();
    let job = Job::Nested(Nested {
        url: server.url(),
        clients: CLIENTS,
        tasks,
        searches,
    });
    let mut crowd = Child::start(&job, Placement::Split)?;
    crowd.expect::<()>("ready")?;
    crowd.go(Span { start: 0, until: 0 })?;
    crowd.expect::<()>("waiting")?;
    let values = window(
        server,
        &Window {
            contender: Contender::AutoMutex,
            pid: crowd.pid(),
            other: None,
            seconds,
            bursts: false,
        },
    );
    crowd.dismiss();
    let found: Found = crowd.expect("done")?;
    Ok((values, found.after_ns as f64 / clock::SECOND as f64))
}
