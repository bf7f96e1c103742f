//! The store that a command reads.

use auto_mutex::Config;
use auto_mutex::operator::{Lock, Names, Operator};

use crate::args::Global;
use crate::exit::Failure;
use crate::output::Progress;

/// Returns the configuration from the command line and the environment.
pub(crate) fn config(global: &Global) -> Result<Config, Failure> {
    let url = global.url.as_deref().filter(|url| !url.is_empty());
    let url = url.ok_or_else(|| {
        Failure::Usage(
            "which lock store? Set AUTO_MUTEX_URL, or give --url, for example redis://127.0.0.1:6379"
                .to_owned(),
        )
    })?;
    Ok(Config::new(url)?.connect_timeout(global.timeout))
}

/// Connects to the store. This changes nothing in the store.
pub(crate) fn look(global: &Global) -> Result<Operator, Failure> {
    let operator = Operator::connect(config(global)?)?;
    if operator.is_here() {
        return Err(Failure::Usage(
            "memory:// is a store inside one process, which no other process can see".to_owned(),
        ));
    }
    Ok(operator)
}

/// Passes the state of each of these locks to `each`. The locks are read in batches. A name whose key holds foreign data
/// is skipped, because `doctor` reports it.
pub(crate) fn each_lock(
    operator: &Operator,
    names: Names<'_>,
    progress: &Progress,
    mut each: impl FnMut(Lock) -> Result<(), Failure>,
) -> Result<(), Failure> {
    for names in names {
        for batch in names?.chunks(BATCH) {
            for lock in operator.inspect(batch)? {
                match lock {
                    Ok(lock) => each(lock)?,
                    Err(auto_mutex::LockError::ForeignKey { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            progress.add(batch.len());
        }
    }
    progress.end();
    Ok(())
}

/// The number of locks that one request reads.
const BATCH: usize = 256;
