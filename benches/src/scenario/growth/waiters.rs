//! More and more waiters of one name. The holder releases the lock, and all of them get it once.

use std::thread;
use std::time::Duration;

use super::super::Bench;
use super::{ALL, LONGEST, PLACEMENT, WAITERS, grow};
use crate::Failure;
use crate::job::{Job, Names};
use crate::peer::Contender;
use crate::run::Child;
use crate::server::Server;
use crate::worker::talk::Span;
use crate::worker::{Drained, Holding, Waiting};

/// rslock is left out: a crowd that polls takes minutes.
const CONTENDERS: &[Contender] = &[
    Contender::AutoMutex,
    Contender::AutoMutexPostgres,
    Contender::PgAdvisoryLock,
];

const LEASE_S: u64 = 30;
/// The time in which all waiters have entered the server's queue.
const SETTLE: Duration = Duration::from_secs(2);

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    let mut longest = Vec::new();
    grow(
        bench,
        WAITERS,
        CONTENDERS,
        &ALL,
        |server, contender, waiters| {
            let per_handoff = drain(server, contender, waiters)?;
            // A statement of the others lasts as long as its wait.
            if contender.is_ours() && waiters == ALL[ALL.len() - 1] {
                longest.push((contender, server.longest()));
            }
            Ok(per_handoff)
        },
    )?;
    for contender in CONTENDERS {
        let of = longest.iter().filter(|(who, _)| who == contender);
        for (round, (_, longest)) in of.enumerate() {
            let values = [(LONGEST.to_owned(), *longest)].into();
            bench.add(WAITERS, PLACEMENT, contender.label(), round, values);
        }
    }
    Ok(())
}

/// How many clients wait. The waiters of a client share its connection, and queue in it.
fn clients(contender: Contender, waiters: usize) -> usize {
    match contender {
        Contender::AutoMutexPostgres => waiters.min(100),
        who if who.connects_each() => 1,
        _ => waiters.min(1_000),
    }
}

/// Returns the server's processor time per handoff, in microseconds.
fn drain(server: &mut Server, contender: Contender, waiters: usize) -> Result<f64, Failure> {
    server.clear();
    let names = |count, clients| Names {
        contender,
        url: server.url(),
        lease_s: LEASE_S,
        count,
        names: 1,
        clients,
    };
    let held = Job::Hold(names(1, 1));
    let waited = Job::Wait(names(waiters, clients(contender, waiters)));
    let now = Span { start: 0, until: 0 };
    let mut holder = Child::start(&held, PLACEMENT)?;
    holder.expect::<Holding>("holding")?;
    holder.expect::<()>("ready")?;
    holder.go(now)?;
    let mut crowd = Child::start(&waited, PLACEMENT)?;
    crowd.expect::<()>("ready")?;
    server.watch_longest()?;
    crowd.go(now)?;
    crowd.expect::<Waiting>("waiting")?;
    thread::sleep(SETTLE);
    let before = server.cpu();
    holder.dismiss();
    crowd.expect::<Drained>("done")?;
    let per_handoff = (server.cpu() - before) * 1e6 / waiters as f64;
    holder.wait()?;
    crowd.wait()?;
    Ok(per_handoff)
}
