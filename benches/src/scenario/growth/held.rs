//! More and more held locks, which their client renews.

use super::super::Bench;
use super::super::held::{BEATS_PER_LEASE, hold};
use super::{ALL, HELD, grow};
use crate::Failure;
use crate::peer::{Contender, LEASE};

/// Those that renew.
const CONTENDERS: &[Contender] = &[
    Contender::AutoMutex,
    Contender::Distkit,
    Contender::AutoMutexPostgres,
];

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    let seconds = LEASE.as_secs_f64() / BEATS_PER_LEASE;
    grow(bench, HELD, CONTENDERS, &ALL, |server, contender, locks| {
        let values = hold(server, contender, locks, seconds, false)?;
        Ok(values["server_cpu"] * 100.0)
    })
}
