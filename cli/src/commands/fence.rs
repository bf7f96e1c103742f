//! `auto-mutex fence`

use auto_mutex_fence::Dialect;

use super::manual::write;
use crate::args::{self, Fence};
use crate::exit::Outcome;

pub(crate) fn run(args: &Fence) -> Outcome {
    let dialect = match args.dialect {
        args::Dialect::Postgres => Dialect::Postgres,
        args::Dialect::Mysql => Dialect::Mysql,
        args::Dialect::Sqlite => Dialect::Sqlite,
    };
    write(dialect.migration().as_bytes())
}
