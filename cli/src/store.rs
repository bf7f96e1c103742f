//! The store that a command reads.

use auto_mutex::Config;
use auto_mutex::operator::{Lock, Operator};

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

/// Passes the state of every lock whose name matches `pattern` to `each`. The locks are read in batches, and each name
/// is passed once. A name whose key holds foreign data is skipped, because `doctor` reports it.
pub(crate) fn each_lock(
    operator: &Operator,
    pattern: &str,
    progress: &Progress,
    mut each: impl FnMut(Lock) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut seen = Seen::default();
    for names in operator.names(pattern) {
        let mut names = names?;
        names.retain(|name| seen.is_new(name));
        for batch in names.chunks(BATCH) {
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

/// The names that a scan has returned so far, because a scan may return a name twice. Stored as hashes, because there
/// may be many names.
#[derive(Default)]
pub(crate) struct Seen {
    hashes: std::collections::HashSet<u64>,
    state: std::hash::RandomState,
}

impl Seen {
    pub(crate) fn is_new(&mut self, name: &str) -> bool {
        use std::hash::BuildHasher as _;
        self.hashes.insert(self.state.hash_one(name))
    }
}
