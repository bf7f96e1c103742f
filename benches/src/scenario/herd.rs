//! S10: a herd: many clients of one server that is killed and started again with its data.

use std::time::Instant;

use super::{Bench, Column, FOREIGN, Scenario, Table};
use crate::Failure;
use crate::clock;
use crate::job::{Herd, Job};
use crate::measure::Values;
use crate::measure::cpu::Usage;
use crate::peer::Contender;
use crate::run::{Child, Placement};
use crate::server::Server;
use crate::worker::{Herded, Span};

pub(super) const NAME: &str = "S10";

const PROCESSES: usize = 4;

pub(super) const SCENARIO: Scenario = Scenario {
    id: NAME,
    tables: &[Table {
        name: NAME,
        title: "S10: 3,000 clients in 4 processes, each with a lock of its own twice a second, when the server is killed and started again",
        columns: &[
            Column::new("clients", "clients"),
            Column::new("not_served", "not served"),
            Column::new("served_s", "all served after s"),
            Column::new("again_s", "all once more after s"),
            Column::new("kb_per_client", "KB sent per client"),
            Column::new("connections_per_client", "connections per client"),
            FOREIGN,
        ],
        plot: None,
    }],
    counts: false,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Failure> {
    let options = bench.options().clone();
    let clients = 3_000;
    let rounds = if options.quick {
        1
    } else {
        options.repetitions.min(3)
    };
    let placement = Placement::Both;
    let mut round = 0;
    bench.rounds(NAME, placement, &[Contender::AutoMutex], rounds, |_, _| {
        round += 1;
        measure(clients, placement)
    })
}

fn measure(clients: usize, placement: Placement) -> Result<Values, Failure> {
    let mut server = Server::persistent()?;
    let job = Job::Herd(Herd {
        url: server.url(),
        clients: clients / PROCESSES,
    });
    let mut herd = (0..PROCESSES)
        .map(|_| Child::start(&job, placement))
        .collect::<Result<Vec<_>, _>>()?;
    for child in &herd {
        child.expect::<()>("ready")?;
    }
    let pids: Vec<_> = herd.iter().map(Child::pid).collect();
    let (usage, began) = (Usage::now(pids.iter().copied()), Instant::now());
    server.restart()?;
    let restarted = clock::now();
    for child in &mut herd {
        child.go(Span {
            start: restarted,
            until: 0,
        })?;
    }
    let (mut served, mut again) = (0, 0);
    let (mut served_at, mut again_at) = (restarted, restarted);
    for child in &herd {
        let herded: Herded = child.expect("done")?;
        served += herded.served;
        again += herded.again;
        served_at = served_at.max(herded.served_at);
        again_at = again_at.max(herded.again_at);
    }
    let others = Usage::now(pids.into_iter().chain([server.pid()])).foreign_since(usage);
    let foreign = others / began.elapsed().as_secs_f64();
    let seconds = |at: u64| (at - restarted) as f64 / clock::SECOND as f64;
    let per_client = |total: u64| total as f64 / clients as f64;
    let values = [
        ("clients", clients as f64),
        ("not_served", (clients - served.min(again)) as f64),
        ("served_s", seconds(served_at)),
        ("again_s", seconds(again_at)),
        (
            "kb_per_client",
            per_client(server.figure("total_net_input_bytes")) / 1000.0,
        ),
        ("foreign_cpu", foreign),
        (
            "connections_per_client",
            per_client(server.figure("total_connections_received")),
        ),
    ];
    Ok(values.map(|(name, value)| (name.to_owned(), value)).into())
}
