//! Uncontended calls of more and more names.

use super::super::Bench;
use super::{ALL, NAMES, PLACEMENT, grow};
use crate::Failure;
use crate::peer::Contender;
use crate::run::{Contest, contest};

const CONTENDERS: &[Contender] = &[
    Contender::AutoMutex,
    Contender::Rslock,
    Contender::AutoMutexPostgres,
    Contender::PgAdvisoryLock,
];

pub(super) fn run(bench: &mut Bench) -> Result<(), Failure> {
    let (options, dir) = (bench.options().clone(), bench.dir());
    grow(
        bench,
        NAMES,
        CONTENDERS,
        &ALL,
        |server, contender, tasks| {
            let many = Contest {
                contender,
                placement: PLACEMENT,
                processes: 1,
                tasks,
                one_key: false,
                body_us: 0,
                seconds: options.seconds,
            };
            Ok(contest(server, &many, &dir, false)?["server_us"])
        },
    )
}
