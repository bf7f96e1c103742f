//! More and more clients that connect at once.

use super::super::Bench;
use super::{CLIENTS, PLACEMENT, grow};
use crate::Failure;
use crate::peer::Contender;
use crate::run::Fleets;
use crate::server::Server;

const CONTENDERS: &[Contender] = &[
    Contender::AutoMutexAwaited,
    Contender::Rslock,
    Contender::AutoMutexPostgresAwaited,
    Contender::PgAdvisoryLock,
];

/// The most is that of S10: the clients share a processor.
const SIZES: [usize; 4] = [10, 100, 1_000, 3_000];

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    grow(bench, CLIENTS, CONTENDERS, &SIZES, connect)
}

/// Returns the server's processor time per client, in milliseconds.
fn connect(server: &mut Server, contender: Contender, clients: usize) -> Result<f64, Failure> {
    server.clear();
    let fleets = Fleets::ready(server, contender, PLACEMENT, clients, clients)?;
    let before = server.cpu();
    let fleets = fleets.connect()?;
    let per_client = (server.cpu() - before) * 1e3 / clients as f64;
    drop(fleets);
    server.until_alone();
    Ok(per_client)
}
