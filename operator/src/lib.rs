//! For operators: reads the holders and waiters of locks, and breaks single holds. The command `auto-mutex` is built on
//! this module.
//!
//! An [`Operator`] reads the locks of all programs that use a store. Reading changes nothing on the servers; only
//! [`kick`](Operator::kick) does. All methods block the thread, and work with and without a runtime. In async code,
//! call them in `spawn_blocking`.
//!
//! ```
//! use auto_mutex::{Client, operator::Operator};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("memory://shop")?;
//! let guard = client.mutex("orders").blocking_lock()?;
//!
//! let operator = Operator::connect("memory://shop")?;
//! for names in operator.names_in_use("*") {
//!     for lock in operator.inspect(&names?)?.into_iter().flatten() {
//!         println!("{}: {} holders, {} waiting", lock.name, lock.holders.len(), lock.waiting());
//!     }
//! }
//! let lock = operator.inspect(&["orders"])?.remove(0)?;
//! assert!(operator.kick("orders", lock.holders[0].token)?); // that hold, and no newer one
//! assert!(!operator.kick("orders", lock.holders[0].token)?);
//! # drop(guard);
//! # Ok(()) }
//! ```
//!
//! A user of the servers needs
//! [`AclRule::operator`](https://docs.rs/auto-mutex/latest/auto_mutex/struct.AclRule.html#method.operator).

mod hold;
mod lock;
mod names;
mod sites;
mod waits;

use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use auto_mutex_core::store::{
    CONDVAR, Layout, Name, NameRecord, Reader, StoreErrorKind, WATCHERS, escape, escape_shown,
    is_escaped, with_sources,
};
use auto_mutex_core::{Client, Config, LockError, Settings, SetupError, StoreError};
use tokio::runtime::{Builder, Runtime};

pub use self::hold::{Hold, Wait};
use self::lock::is_seat;
pub use self::lock::{Kicked, Lock};
pub use self::names::{Keys, Names};
pub use self::sites::sites_json;
pub use self::waits::{Chain, Hop, Waits};
pub use auto_mutex_core::store::{Key, Replica, Server};

/// A server's description of itself, or its address and the error if it could not be asked.
pub type ServerAnswer = Result<Server, (String, SetupError)>;

/// Longer than a process hands a hold off to its own waiters while others wait.
const CONFIRMED_AFTER: Duration = Duration::from_millis(500);

type Job = Box<dyn FnOnce(&Runtime, &mut dyn Reader) + Send>;

/// Reads the locks of a store, and breaks one hold at a time.
///
/// An operator has its own thread and connections, which end when it is dropped.
pub struct Operator {
    /// Jobs for a thread with its own runtime, because a caller inside a runtime must not block on another one.
    jobs: mpsc::Sender<Job>,
    settings: Settings,
    /// Connected by the first kick, because connecting a client writes to the store.
    client: OnceLock<Client>,
}

impl Operator {
    /// Connects to a store, given as a URL or a [`Config`]. For a quorum, a majority of the servers must be reachable.
    /// (A `memory://` store without a name is always empty here. One with a name is only visible in its own process.)
    ///
    /// Loads the scripts into servers that lack them, and changes nothing else.
    /// [`Config::connect_lazily`] has no effect.
    ///
    /// # Errors
    ///
    /// A [`SetupError`] that says what is wrong with the URL, the options, the credentials or the server.
    pub fn connect<C>(config: C) -> Result<Self, SetupError>
    where
        C: TryInto<Config>,
        SetupError: From<C::Error>,
    {
        let settings = config.try_into()?.validate()?;
        let mut reader = settings.engine.reader(&settings.options);
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(SetupError::background_thread)?;
        let (jobs, accepted) = mpsc::channel::<Job>();
        thread::Builder::new()
            .name("auto-mutex-operator".to_owned())
            .spawn(move || {
                for job in accepted {
                    job(&runtime, &mut *reader);
                }
            })
            .map_err(SetupError::background_thread)?;
        let operator = Self {
            jobs,
            settings,
            client: OnceLock::new(),
        };
        operator.run(async |reader| reader.connect().await)?;
        Ok(operator)
    }

    /// Runs `job` on the operator's thread.
    fn run<T: Send + 'static>(
        &self,
        job: impl AsyncFnOnce(&mut dyn Reader) -> Result<T, SetupError> + Send + 'static,
    ) -> Result<T, SetupError> {
        let (sender, result) = mpsc::sync_channel(1);
        let sent = self.jobs.send(Box::new(move |runtime, reader| {
            // `send` fails only if the caller no longer exists.
            let _ = sender.send(runtime.block_on(job(reader)));
        }));
        let ended = || SetupError::background_thread("it has ended");
        sent.map_err(|_| ended())?;
        result.recv().map_err(|_| ended())?
    }

    /// The names that match `pattern`, in batches, each once and in no particular order: those in use, and those used
    /// in about the last ten minutes.
    ///
    /// Patterns have the syntax of Redis: `*` matches any text, `?` any character, `[ab]` one of these, and `\` makes
    /// the next character a plain one. Names have spaces, braces, `%` and non-ASCII characters percent-encoded; in a
    /// pattern, only `%` has to be.
    pub fn names(&self, pattern: &str) -> Names<'_> {
        Names::new(self, Some(escape_shown(pattern)), false)
    }

    /// Those of [`names`](Self::names) that have holders, waiters or signals, and perhaps a few others, such as one
    /// whose holder has crashed. Leaving out the rest costs the servers much less than to [`inspect`](Self::inspect)
    /// it.
    pub fn names_in_use(&self, pattern: &str) -> Names<'_> {
        Names::new(self, Some(escape_shown(pattern)), true)
    }

    /// The state of each of these locks, in their order. An unused name is a lock without holders.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if the store cannot be asked. For single names: [`LockError::InvalidName`],
    /// [`LockError::ForeignKey`], [`LockError::Unavailable`].
    pub fn inspect<N: AsRef<str>>(
        &self,
        names: &[N],
    ) -> Result<Vec<Result<Lock, LockError>>, SetupError> {
        let parsed: Vec<_> = names.iter().map(|name| parse(name.as_ref())).collect();
        let asked: Vec<Name> = parsed.iter().flatten().cloned().collect();
        let names = asked.clone();
        let (snapshot, watchers) = self.run(async move |reader| {
            let snapshot = reader.inspect(&names).await?;
            let states = names.iter().zip(&snapshot.names);
            let seats = states.filter(|(_, state)| state.as_ref().is_ok_and(is_seat));
            let watched: Vec<_> = seats.map(|(name, _)| name.beside(WATCHERS)).collect();
            let watchers = match watched.is_empty() {
                true => Vec::new(),
                false => reader.inspect(&watched).await?.names,
            };
            Ok((snapshot, watchers))
        })?;
        let count = |state: Result<NameRecord, _>| state.map_or(0, |record| record.waiters.len());
        let mut watchers = watchers.into_iter().map(count);
        let mut found = asked.iter().zip(snapshot.names).map(|(name, state)| {
            let record = state.map_err(|error| self.settings.lock_error(name, error))?;
            let mut lock = Lock::new(name, record, snapshot.now);
            if lock.is_seat() {
                lock.watchers = watchers.next().unwrap_or(0);
            }
            Ok(lock)
        });
        let unused = |name: &_| Ok(Lock::new(name, Default::default(), snapshot.now));
        let states = parsed.into_iter().map(|name| {
            let name = name?;
            found.next().unwrap_or_else(|| unused(&name))
        });
        Ok(states.collect())
    }

    /// Who waits for whom, as far as the store knows: the record of a waiter has the locks that its task holds by
    /// protected calls and re-entrant guards. `locks` has to contain all that have waiters. If some seem to wait for
    /// each other, all are read again half a second later, and only a cycle that persists counts.
    ///
    /// The library itself asks the processes. It therefore also finds the deadlock of a task that is not its process's
    /// first waiter for a lock, which is only [possible](Chain::possible) here.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if the store cannot be asked again.
    pub fn waits(&self, locks: Vec<Lock>) -> Result<Waits, SetupError> {
        let mut locks = locks;
        locks.sort_by(|a, b| a.name.cmp(&b.name));
        let records = Waits::records(&locks);
        let mut cycles = [false, true].map(|possible| records.cycles(possible));
        if cycles.iter().any(|cycles| !cycles.is_empty()) {
            thread::sleep(CONFIRMED_AFTER);
            let names: Vec<_> = locks.iter().map(|lock| lock.name.as_str()).collect();
            let later: Vec<_> = self.inspect(&names)?.into_iter().flatten().collect();
            let later = Waits::records(&later).and(&records);
            cycles = [false, true].map(|possible| later.cycles(possible));
        }
        Ok(Waits::new(locks, records, cycles))
    }

    /// Breaks the hold of `name` with this fencing token, and returns whether there was one. Its holder is notified, as
    /// by [`Mutex::force_unlock`](auto_mutex_core::Mutex::force_unlock). A newer hold is never broken, because the
    /// store compares the token.
    ///
    /// For some milliseconds, a process may hand a hold off to its own waiters without a request to the store. To the
    /// store these are one hold, and the token of each identifies it.
    ///
    /// For a day, [`Lock::kicked`] shows this process; [`kick_by`](Self::kick_by) also records for whom it acted.
    ///
    /// The first call connects a client, because a kick writes to the store.
    ///
    /// # Errors
    ///
    /// [`LockError::InvalidName`], [`LockError::ForeignKey`]. After [`LockError::Unavailable`], the hold may or may not
    /// have been broken; or the client could not connect, for example because its user may only read.
    pub fn kick(&self, name: &str, token: u64) -> Result<bool, LockError> {
        self.kick_by(name, token, "a program")
    }

    /// Like [`kick`](Self::kick). `by` is kept in [`Lock::kicked`]: a user, a tool or a remote address, for example.
    ///
    /// # Errors
    ///
    /// Those of [`kick`](Self::kick).
    pub fn kick_by(&self, name: &str, token: u64, by: &str) -> Result<bool, LockError> {
        let name = parse(name)?;
        let client = self.client().map_err(|error| {
            let text = with_sources(&error);
            let source = match error.is_transient() {
                true => StoreError::disconnected(text),
                false => StoreError::new(
                    StoreErrorKind::Forbidden,
                    format!("it does not let this user break holds: {text}"),
                ),
            };
            self.settings.unavailable(&name, source)
        })?;
        client.kick(&name, token, by)
    }

    /// Asks all servers of the store to describe themselves.
    ///
    /// # Errors
    ///
    /// [`SetupError::BackgroundThread`] if the background thread has ended.
    pub fn servers(&self) -> Result<Vec<ServerAnswer>, SetupError> {
        self.run(async |reader| Ok(reader.describe().await))
    }

    /// All keys with the prefix of this library, on all servers, in batches.
    pub fn keys(&self) -> Keys<'_> {
        Keys(Names::new(self, None, false))
    }

    /// The servers, as in the URL, without credentials.
    #[must_use]
    pub fn store(&self) -> String {
        self.settings.engine.servers()
    }

    /// Whether the store is in this process (`memory://`), and thus invisible to others.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.settings.engine.layout() == Layout::InProcess
    }

    fn client(&self) -> Result<&Client, SetupError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = Client::without_holds(&self.settings)?;
        Ok(self.client.get_or_init(|| client))
    }
}

impl std::fmt::Debug for Operator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operator")
            .field("store", &self.store())
            .finish_non_exhaustive()
    }
}

/// The beginning of all names in this namespace, as errors show them.
#[must_use]
pub fn prefix(namespace: &str) -> String {
    format!("{}:", escape(namespace))
}

/// Parses a name as errors show it, or as a user would give it to a handle.
fn parse(name: &str) -> Result<Name, LockError> {
    let is_shown = |parsed: &Name| is_escaped(parsed.before(CONDVAR).unwrap_or(name));
    match Name::parse(&escape_shown(name)).filter(is_shown) {
        Some(name) => Ok(name),
        None => Name::verbatim(None, name),
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
