//! The store that a command reads.

use auto_mutex::operator::{Lock, Names, Operator, Waits};
use auto_mutex::{Config, LockError};

use crate::args::Global;
use crate::exit::Failure;

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

/// Connects to the store, without changing anything there.
pub(crate) fn look(global: &Global) -> Result<Operator, Failure> {
    let operator = Operator::connect(config(global)?)?;
    if operator.is_here() {
        return Err(Failure::Usage(
            "memory:// is a store inside one process, which no other process can see".to_owned(),
        ));
    }
    Ok(operator)
}

/// Returns the state of the lock with this name, or of the condition variable of this name if only that is in use.
pub(crate) fn subject(operator: &Operator, name: &str) -> Result<Lock, Failure> {
    let condvar = format!("{name}:%condvar");
    let mut states = operator.inspect(&[name, &condvar])?;
    let condvar = states.pop().and_then(Result::ok);
    let lock = one(states)?;
    Ok(condvar
        .filter(|condvar| condvar.is_in_use() && !lock.is_in_use())
        .unwrap_or(lock))
}

/// Returns the state of the one lock that was asked for.
pub(crate) fn one(states: Vec<Result<Lock, LockError>>) -> Result<Lock, Failure> {
    match states.into_iter().next() {
        Some(state) => Ok(state?),
        None => Err(Failure::Other("the store has not answered".to_owned())),
    }
}

/// Passes the state of each of these locks to `each`. Reads them in batches, and skips names with foreign data, which
/// `doctor` reports.
pub(crate) fn each_lock(
    operator: &Operator,
    names: Names<'_>,
    mut each: impl FnMut(Lock),
) -> Result<(), Failure> {
    for names in names {
        for batch in names?.chunks(BATCH) {
            for lock in operator.inspect(batch)? {
                match lock {
                    Ok(lock) => each(lock),
                    Err(LockError::ForeignKey { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(())
}

/// The locks that have holders, waiters or signals.
pub(crate) fn in_use(operator: &Operator, pattern: &str) -> Result<Vec<Lock>, Failure> {
    let mut locks = Vec::new();
    each_lock(operator, operator.names_in_use(pattern), |lock| {
        locks.extend(lock.is_in_use().then_some(lock));
    })?;
    Ok(locks)
}

/// Who waits for whom. `locks` has all that are in use.
pub(crate) fn waits(operator: &Operator, locks: &[Lock]) -> Result<Waits, Failure> {
    let waited = locks.iter().filter(|lock| !lock.waiters.is_empty());
    Ok(operator.waits(waited.cloned().collect())?)
}

/// How many locks one request reads.
const BATCH: usize = 256;
