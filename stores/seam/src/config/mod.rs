//! [`Config`]: which store to use, and the default options of its locks. `settings` has the defaults and checks.

mod deadlock;
mod environment;
mod settings;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

pub use deadlock::Deadlock;
pub use settings::Settings;
pub use settings::check_max_waiters;
use settings::{Checked, SHORTEST, at_least};

use crate::base::duration::{IntoDuration, SHORTEST_EXPIRE};
use crate::base::error::SetupError;
use crate::observer::{Observer, SharedObserver};
use crate::store::credentials::{CredentialsProvider, Source};
use crate::store::{Engine, engine, of_several};
#[cfg(any(test, feature = "test-util"))]
use crate::store::{LIMITS, Limits};

/// Which store to use, and the default options of its locks.
///
/// A URL alone is enough wherever a `Config` is accepted. A duration is a `Duration`, or a text like `"250ms"`: see
/// [`IntoDuration`]. If a value cannot work, `setup` and `Client::connect` return the error.
///
/// ```no_run
/// # fn main() -> Result<(), auto_mutex::SetupError> {
/// use std::time::Duration;
/// use auto_mutex::Config;
///
/// let config = Config::new("redis://127.0.0.1:6379")?
///     .namespace("prod")
///     .lease("5s")
///     .expire("10m")
///     .block(Duration::from_millis(2500));
/// # Ok(()) }
/// ```
///
/// # URLs
///
/// | URL | store |
/// |---|---|
/// | `memory://` | in this process, private to the client |
/// | `memory://name` | in this process, shared by all clients with that URL |
/// | `redis://[user[:password]@]host[:port][/database]` | a Redis server by TCP; the default port is 6379 |
/// | `rediss://…` | a Redis server by TLS (feature `tls`) |
/// | `valkey://…`, `valkeys://…` | other names of `redis://` and `rediss://` |
/// | `unix:///path` | a Redis server by a socket file (also `redis+unix://`, `valkey+unix://`); not on Windows |
/// | `redis-sentinel://[user[:password]@]host[:port],…/service[/database]` | the primary of a service, found by asking these sentinels; their default port is 26379 |
/// | `redis-cluster://[user[:password]@]host[:port],…` | a Redis Cluster, of which these are some nodes (feature `cluster`) |
/// | `redlock://[user[:password]@]host[:port],…[/database]` | a majority of independent servers; name all of them: 3, 5, 7… (feature `quorum`) |
/// | `postgres://[user[:password]@]host[:port],…[/database]` | PostgreSQL 14 or newer (feature `postgres`). The default port is 5432, and the default database has the name of the user. Several hosts are a primary with its standbys |
/// | `postgres:///database?host=/run/postgresql` | PostgreSQL by a socket file in this folder |
/// | `postgresql://…` | another name of `postgres://` |
///
/// Query parameters of all but `postgres://`:
///
/// | parameter | with | meaning |
/// |---|---|---|
/// | `tls=true` | every scheme over TCP | use TLS for all servers and sentinels, like `rediss://` |
/// | `ca=/path` | TLS | trust the certificate authorities in this file instead of the system's |
/// | `cert=/path`, `key=/path` | TLS | the client certificate (with its intermediate certificates) and its private key, if the server asks for one (`tls-auth-clients`) |
/// | `server_name=…` | TLS | the name that every server's certificate must have, instead of the host in the URL |
/// | `sentinel_user=…`, `sentinel_pass=…` | `redis-sentinel://` | the login for the sentinels; the login before the `@` is for the servers |
/// | `db=…` | `unix://` | the database; with other schemes it is in the path |
/// | `user=…`, `pass=…` | `unix://` | the login; with other schemes it is before the `@` |
/// | `protocol=resp3` | all but `memory://` | no effect, because the library always uses RESP3; accepted so that other libraries can use the same URL |
///
/// Query parameters of `postgres://`, with the meaning that libpq gives them:
///
/// | parameter | meaning |
/// |---|---|
/// | `sslmode=…` | `disable`: no TLS. `prefer`, the default, and `allow`: TLS if the server and this build have it. `require`: TLS, with any certificate. `verify-ca`: with a certificate of a trusted authority. `verify-full`: which also has the name of the host. The last three need the feature `tls` |
/// | `sslrootcert=/path`, or `ca=` | trust the certificate authorities in this file instead of the system's, so that `require` means `verify-ca`; `sslrootcert=system` means the system's, and `verify-full` |
/// | `sslcert=/path` and `sslkey=/path`, or `cert=` and `key=` | the client certificate and its private key |
/// | `server_name=…` | the name that the certificate must have, instead of the host in the URL (not in libpq) |
/// | `channel_binding=…` | `require`: log in only if nobody can be between client and server, with SCRAM and TLS; `prefer`, the default; `disable` |
/// | `host=…`, `port=…`, `user=…`, `password=…`, `dbname=…` | what the URL doesn't have in its usual place; hosts and ports may be lists: `host=a,b&port=5432,5433` |
/// | `options=…` | settings of the session, `-c statement_timeout=5s` for example |
/// | `application_name=…` | what `pg_stat_activity` shows, instead of `auto_mutex` |
/// | `target_session_attrs=…` | `any`, `read-write` or `primary`, all without effect: locks need the server that takes writes, and the client looks for it |
/// | `gssencmode=…`, `sslnegotiation=…` | `disable` or `prefer`; `postgres`: both without effect |
/// | `poll=200ms` | the client asks for its messages this often, from `10ms` to `1100ms`, and needs no session of its own: for poolers (not in libpq) |
///
/// `client_encoding`, `connect_timeout` ([`connect_timeout`](Self::connect_timeout) is ours), `keepalives` and its
/// like, `load_balance_hosts`, `sslsni` and `tcp_user_timeout` are accepted without effect. What other drivers and
/// poolers understand (`pgbouncer`, `connection_limit`, `schema` and the like) is ignored with a warning. The other
/// parameters of libpq are refused by name, and so is anything else. Of the environment, `PGUSER` (else `USER`) is read
/// if the URL has no user, and no other `PG…` variable.
///
/// An IPv6 address is in brackets; its zone follows `%25`: `redis://[fe80::1%25eth0]:6379`. All kinds of Redis URLs
/// also work with Valkey.
///
/// Percent-encode special characters of a user, password, path or parameter. No `Debug` output and no error shows a
/// user, a password or the content of a file.
///
/// # TLS
///
/// TLS 1.2 and 1.3. This needs the feature `tls` of this crate (`cargo add auto-mutex --features tls`). The files are
/// in PEM. They are read at set-up, and again for each new connection, so a renewed certificate needs no restart. The
/// system's authorities are looked for where OpenSSL looks for them (`SSL_CERT_FILE`, `SSL_CERT_DIR`). The server's
/// certificate is always checked, except with `postgres://`, where `sslmode` decides: use `verify-full`. If TLS fails,
/// [`TlsError`](crate::TlsError) says why.
///
/// The library uses the `rustls::crypto::CryptoProvider` that the program has installed, or else `ring`. The feature
/// `tls-no-provider` is `tls` without `ring`: then the program must install a provider, for example a validated one
/// (FIPS).
#[derive(Clone, Debug)]
#[must_use = "a Config does nothing until it is given to `setup` or `Client::connect`"]
pub struct Config {
    settings: Settings,
    /// Not part of the endpoint yet, because each client asks its provider on another thread.
    credentials: Option<Source>,
    /// The error of the first option with an unusable value.
    unusable: Option<SetupError>,
}

impl Config {
    /// The store at `url`, with default options.
    ///
    /// # Errors
    ///
    /// [`SetupError::InvalidUrl`] if the URL is invalid, [`SetupError::UnsupportedStore`] if this build cannot serve
    /// it.
    pub fn new(url: impl AsRef<str>) -> Result<Self, SetupError> {
        engine::parse(url.as_ref()).map(Self::at)
    }

    /// A quorum of independent servers, each with its own URL, which may differ in credentials, database or socket.
    /// Otherwise the URL `redlock://h1,h2,h3` is shorter. Needs the feature `quorum`.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// use auto_mutex::Config;
    ///
    /// let config = Config::quorum([
    ///     "redis://:one@10.0.0.1",
    ///     "redis://:two@10.0.0.2/3",
    ///     "unix:///run/redis/redis.sock",
    /// ])?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`SetupError::InvalidUrl`] if a URL is invalid or does not name a single server, if there are not 3, 5, 7 … 15
    /// URLs, or if two name the same server.
    pub fn quorum<U: AsRef<str>>(urls: impl IntoIterator<Item = U>) -> Result<Self, SetupError> {
        of_several(urls).map(Self::at)
    }

    /// Of a store that has no URL.
    #[doc(hidden)]
    pub fn at(engine: Arc<dyn Engine>) -> Self {
        Self {
            settings: Settings::at(engine),
            credentials: None,
            unusable: None,
        }
    }

    /// Sets the option in `field`, or keeps the first error for [`validate`](Self::validate).
    fn set<T>(
        mut self,
        option: &'static str,
        value: Checked<T>,
        field: impl FnOnce(&mut Settings) -> &mut T,
    ) -> Self {
        match value {
            Ok(value) => *field(&mut self.settings) = value,
            Err(reason) => {
                self.unusable
                    .get_or_insert(SetupError::invalid(option, reason));
            }
        }
        self
    }

    #[doc(hidden)]
    pub fn validate(self) -> Result<Settings, SetupError> {
        if let Some(error) = self.unusable {
            return Err(error);
        }
        let mut settings = self.settings;
        let checked = settings.check();
        checked.map_err(|(option, reason)| SetupError::invalid(option, reason))?;
        if let Some(source) = self.credentials {
            // All sources of this client share one thread, which no other client uses.
            let asking = settings.engine.asking(&source.of_client());
            settings.engine =
                asking.map_err(|reason| SetupError::invalid("credentials", reason))?;
        }
        Ok(settings)
    }

    /// Reads the URL from `AUTO_MUTEX_URL`, and the namespace, if any, from `AUTO_MUTEX_NAMESPACE`.
    ///
    /// # Errors
    ///
    /// [`SetupError::Environment`] if the URL is not set or a variable is not UTF-8, and the errors of
    /// [`Config::new`].
    pub fn from_env() -> Result<Self, SetupError> {
        environment::read(|variable| std::env::var_os(variable))
    }

    /// Sets the first part of every name, so that several environments can share a store. In the names of annotated
    /// functions, the package follows it. Two programs in one namespace therefore share only locks to which both give
    /// the same name (`name = "…"`, handles).
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        let namespace = settings::namespace(namespace.into()).map(Some);
        self.set("namespace", namespace, |it| &mut it.namespace)
    }

    /// The options of a client whose locks exclude nobody. Turns handoffs off, too: they let calls run only one after
    /// the other.
    #[cfg(any(test, feature = "test-util"))]
    #[doc(hidden)]
    pub fn without_exclusion(mut self) -> Self {
        self.settings.skips = true;
        self.settings.handoff.0 = 0;
        self.retain(Duration::ZERO)
    }

    /// For tests on a machine that may stand still: a call that does not wait has as long for an answer as any other.
    #[cfg(any(test, feature = "test-util"))]
    #[doc(hidden)]
    pub fn patient(mut self) -> Self {
        static PATIENT: Limits = Limits {
            brief: Duration::from_secs(10),
            ..LIMITS
        };
        self.settings.limits = &PATIENT;
        self
    }

    /// Sets what this client's holders and waiters show in place of the line that made a handle.
    #[doc(hidden)]
    pub fn site(mut self, site: impl Into<String>) -> Self {
        self.settings.site = Some(site.into());
        self
    }

    /// Sets how long the store keeps a lock without a renewal: 100 ms to 30 s, and at most `longest_lease`. The default
    /// is 10 s. The client renews leases in the background; the locks of a killed process are free within one lease.
    pub fn lease(self, time: impl IntoDuration) -> Self {
        let lease = settings::lease(time).map(Some);
        self.set("lease", lease, |it| &mut it.options.lease)
    }

    /// Sets how long a lock may be held: 24 hours by default.
    pub fn expire(self, time: impl IntoDuration) -> Self {
        let expire = at_least(SHORTEST_EXPIRE, time).map(Some);
        self.set("expire", expire, |it| &mut it.expire)
    }

    /// Lets locks be held for as long as their process lives.
    pub fn never_expire(mut self) -> Self {
        self.settings.expire = None;
        self
    }

    /// Sets how long to wait for a lock: without a limit by default. Zero means that calls do not wait.
    pub fn block(self, time: impl IntoDuration) -> Self {
        let block = at_least(Duration::ZERO, time).map(Some);
        self.set("block", block, |it| &mut it.block)
    }

    /// Sets how long a call may wait, or a body may hold its lock, before a warning (`tracing`, WARN) is logged: 30 s
    /// by default. Zero turns the warning off.
    ///
    /// The warning is logged again at each doubling of this time (60 s, 120 s…), each time up to a third of a `lease`
    /// late. It names the lock and the site in the program (`file:line` of an annotated function). For a call that
    /// waits, it also gives the holder and the place in the queue.
    ///
    /// By default, a call waits without a limit, and a body may hold a lock for a day. Only this warning then shows
    /// that a call or a body hangs. (Locks of handles with `never_expire` are exempt: they may be held for as long as
    /// the process lives.)
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.slow("5m");
    /// # Ok(()) }
    /// ```
    pub fn slow(self, time: impl IntoDuration) -> Self {
        self.set("slow", settings::slow(time), |it| &mut it.slow)
    }

    /// Sets what to do about a deadlock: tasks that hold locks and wait for each other, in one process or in several.
    /// [`Deadlock::Report`] by default. [The guide](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/deadlocks) says
    /// which deadlocks are found.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// use auto_mutex::{Config, Deadlock};
    ///
    /// let config = Config::new("redis://127.0.0.1:6379")?.deadlock(Deadlock::Fail);
    /// # Ok(()) }
    /// ```
    pub fn deadlock(mut self, deadlock: Deadlock) -> Self {
        self.settings.deadlock = deadlock;
        self
    }

    /// Sets how many calls may wait for one lock. With so many, a further call fails with
    /// [`LockError::Busy`](crate::LockError::Busy) at once, which `on_timeout` answers: a service that is overloaded
    /// sheds load instead of letting calls pile up. No limit by default. Handles and attributes have an option of the
    /// same name. Standbys of a leader and waiters of a condition variable are never refused.
    ///
    /// The calls of this process are counted exactly. Those of other processes are counted as the store knew them when
    /// a call last had to wait, which is at most 1.1 s ago; until the store has answered that, new calls wait. So calls
    /// that come to several processes within a moment may exceed the limit: at worst, each process lets in
    /// `max_waiters` calls. In a quorum (`redlock://`), each process counts its own calls only.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.max_waiters(100);
    /// # Ok(()) }
    /// ```
    pub fn max_waiters(self, most: u32) -> Self {
        let most = check_max_waiters(most).map(Some);
        self.set("max_waiters", most.map_err(Into::into), |it| {
            &mut it.max_waiters
        })
    }

    /// Sets how long a call waits before the client searches for a deadlock: 1 s by default. The search is repeated at
    /// each doubling of this time. Only tasks that hold another lock cause searches, and shorter waits cause no
    /// requests.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.deadlock_after("200ms");
    /// # Ok(()) }
    /// ```
    pub fn deadlock_after(self, time: impl IntoDuration) -> Self {
        let time = at_least(SHORTEST, time);
        self.set("deadlock_after", time, |it| &mut it.deadlock_after)
    }

    /// Sets how long a call tolerates an unresponsive store before it fails: one lease by default. A call that does not
    /// wait tolerates a second at most. If the process did not run for a while (its machine slept), the store has a
    /// second to answer after the process continues.
    pub fn store_timeout(self, time: impl IntoDuration) -> Self {
        let time = at_least(SHORTEST, time).map(Some);
        self.set("store_timeout", time, |it| &mut it.store_timeout)
    }

    /// Sets how long an attempt to connect may take: 5 s by default. After an attempt that ran out of time, the client
    /// allows more: up to 16 s for a reconnect, and up to four times this option for the first connection with
    /// [`connect_lazily`](Self::connect_lazily).
    pub fn connect_timeout(self, time: impl IntoDuration) -> Self {
        let time = at_least(SHORTEST, time);
        self.set("connect_timeout", time, |it| {
            &mut it.options.connect_timeout
        })
    }

    /// Sets whether `setup` and `Client::connect` return immediately, even if the store cannot be reached, so that a
    /// service can start while Redis is down. The default is `false`.
    ///
    /// The client connects in the background, and tries again until it succeeds. It makes all checks of a set-up (on a
    /// cluster, at one of its nodes). Until then:
    ///
    /// - Calls wait as they do during an outage, and fail with
    ///   [`LockError::Unavailable`](crate::LockError::Unavailable) after `store_timeout`.
    /// - [`guarantees`](struct.Client.html#method.guarantees) are unknown; [`health`](struct.Client.html#method.health)
    ///   has the last error.
    /// - Faults that set-up would have refused (a wrong password, a missing right, another kind of server) are logged
    ///   at level ERROR. The client tries again at least every ten seconds.
    /// - A server that cannot be reached is logged as a warning.
    ///
    /// After it has connected, the client logs the weaknesses of the store, as it otherwise does at set-up.
    ///
    /// If the URL or an option is invalid, `setup` still fails.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// auto_mutex::setup(auto_mutex::Config::new("redis://127.0.0.1:6379")?.connect_lazily(true))?;
    /// # Ok(()) }
    /// ```
    pub fn connect_lazily(mut self, lazily: bool) -> Self {
        self.settings.lazily = lazily;
        self
    }

    /// Sets whether a nested call of an annotated function re-enters a lock that its task holds already. The default is
    /// `true`. With `false` such a call fails with [`LockError::Deadlock`](crate::LockError::Deadlock), because it
    /// would wait for itself. The option `reentrant` of an attribute overrides this setting.
    ///
    /// Choose `false` if functions with locks run in a work-stealing pool, such as rayon's. While a body waits for
    /// other jobs of the pool, its thread runs some of them. If one of these jobs calls the same function, the library
    /// can't tell the call from a nested call of the body, so both would be inside.
    ///
    /// Handles have their own setting, for example [`Mutex::reentrant`](struct.Mutex.html#method.reentrant).
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// auto_mutex::setup(auto_mutex::Config::new("redis://127.0.0.1:6379")?.reentrant(false))?;
    /// # Ok(()) }
    /// ```
    pub fn reentrant(mut self, reentrant: bool) -> Self {
        self.settings.reentrant = reentrant;
        self
    }

    /// Limits local handoffs: a released lock is passed directly to the next waiter of the same process, before the
    /// waiters of other processes. This happens at most `times` times in a row, and for at most `time` after the store
    /// granted the lock. The default is 100 times and 5 ms; the maximum is 1023 times. `0` times turns handoffs off.
    ///
    /// A handoff needs no round trip. At least 50 ms of the lease must be left. Every holder still has a fencing token
    /// and an `expire` of its own, and waiters of one process are served in order.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.local_handoff(20, "2ms");
    /// # Ok(()) }
    /// ```
    pub fn local_handoff(self, times: u32, time: impl IntoDuration) -> Self {
        let handoff = settings::handoff(times, time);
        self.set("local_handoff", handoff, |it| &mut it.handoff)
    }

    /// Sets how long the client keeps a lock after a call, if nobody else asks for it. The next call of the client for
    /// the same lock then needs no request to the store, and allocates nothing.
    ///
    /// Others lose nothing: as soon as another client asks for the lock, the store recalls it, and the client releases
    /// it at once. A waiter waits for one message more. If the client that keeps the lock is dead, the waiter gets the
    /// lock within two seconds. While clients compete for a lock, nobody keeps it; a lock that is recalled twice within
    /// a second isn't kept for 30 seconds, and then up to ten minutes.
    ///
    /// - Only mutexes and the locks of writers are kept, without an owner, and not those of a
    ///   [`MultiLock`](struct.MultiLock.html). A client keeps at most 1,024 locks, and none while it drains or ends.
    ///   Only the same site or handle can use the lock that it has kept.
    /// - Each call has a fencing token and an `expire` of its own. A call that lasts longer than 20 ms gets the full
    ///   lease; until then, it has what is left of the two seconds.
    /// - A kept lock is not [locked](struct.LockInfo.html#structfield.locked), but
    ///   [kept](struct.LockInfo.html#structfield.kept).
    ///
    /// By default, only locks with their own option ([`Mutex::retain`](struct.Mutex.html#method.retain), `retain =
    /// "1s"`) are kept. Zero turns all of it off, also those options. A quorum and [`replicas`](Self::replicas) don't
    /// support this setting, and ignore the options.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.retain("1s");
    /// # Ok(()) }
    /// ```
    pub fn retain(self, time: impl IntoDuration) -> Self {
        let retain = at_least(Duration::ZERO, time).map(Some);
        self.set("retain", retain, |it| &mut it.retain)
    }

    /// Sets whether a restarted server grants nothing until every lease that it may have granted before the restart has
    /// ended. Without this guard, a server that has lost its data may grant locks that clients still hold.
    ///
    /// The server waits as long as after a failover, because it may have been promoted just before the restart. A
    /// server of a quorum waits only for `longest_lease` and a second. Calls that give up during this time get
    /// [`LockError::Unavailable`](crate::LockError::Unavailable), which says how much of the time is left.
    ///
    /// On by default for Sentinel, Cluster and quorum URLs, off for the others. After a *failover*, when a replica has
    /// become the primary, nothing is granted for the same time, even if this option is off. A store in this process
    /// (`memory://`) does not outlive its clients, so it needs no guard. PostgreSQL notices by itself that a crash has
    /// lost its locks, and grants nothing then, so this option changes nothing there.
    pub fn restart_guard(mut self, on: bool) -> Self {
        self.settings.options.restart_guard = on;
        self
    }

    /// Sets whether a failover is trusted to lose no lock. Then a promoted replica grants at once, and set-up accepts
    /// servers whose scripts may not call INFO, and so cannot notice a failover: Redis Enterprise, Redis Cloud and
    /// Azure Managed Redis. Off by default.
    ///
    /// The price: if a failover does lose a lock, another caller gets it at once, while its former holder still runs.
    /// Let the protected resource check fencing tokens. [`Client::guarantees`](struct.Client.html#method.guarantees)
    /// reports [`AfterFailover::Trusted`](crate::AfterFailover::Trusted), and set-up logs a warning.
    ///
    /// All clients of a store need the same setting: a client without it grants nothing during the time that the others
    /// no longer wait for. A server whose scripts may not call INFO can't have a
    /// [`restart_guard`](Self::restart_guard), which is on by default for Sentinel, Cluster and quorum URLs: set-up
    /// refuses both together. For PostgreSQL, set-up refuses this option, because its failovers lose every lock.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let url = "rediss://:PASSWORD@NAME.REGION.redis.azure.net:10000";
    /// auto_mutex::setup(auto_mutex::Config::new(url)?.trust_failover(true))?;
    /// # Ok(()) }
    /// ```
    pub fn trust_failover(mut self, trust: bool) -> Self {
        self.settings.options.trust_failover = trust;
        self
    }

    /// Sets the longest `lease` that any client of this store uses: 30 s by default and at most. After a failover,
    /// after a restart with [`restart_guard`](Self::restart_guard), and after a crash of PostgreSQL, the server grants
    /// nothing for at least this time. If a client's `lease` is longer than its `longest_lease`, set-up fails.
    ///
    /// Clients may set different values. The greatest of them counts. A value stops counting one to two weeks after the
    /// last client with this value has disconnected.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?
    ///     .lease("5s")
    ///     .longest_lease("5s")
    ///     .restart_guard(true);
    /// # Ok(()) }
    /// ```
    pub fn longest_lease(self, time: impl IntoDuration) -> Self {
        let lease = settings::lease(time);
        self.set("longest_lease", lease, |it| &mut it.options.longest_lease)
    }

    /// Lets a grant count only when `count` replicas of the server have it. A call waits for the replicas for at most
    /// `timeout` (the command `WAIT`). Off by default; needs the feature `replicas`.
    ///
    /// If fewer replicas have the grant by then, the lock is released again, and the call fails with
    /// [`LockError::NotReplicated`](crate::LockError::NotReplicated). So a grant survives the loss of the primary if a
    /// replica that has the grant takes over. Set `min-replicas-to-write` on the server too: then a primary that is cut
    /// off from its replicas grants nothing. These two settings are the most that a primary with replicas can offer.
    /// They are not a consensus protocol. For PostgreSQL, set-up refuses this option, because its standbys never have
    /// the locks.
    ///
    /// This option costs a second connection, and one more round trip for each grant by the store. It does not make
    /// renewals slower.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("redis://127.0.0.1:6379")?.replicas(1, "200ms");
    /// # Ok(()) }
    /// ```
    pub fn replicas(self, count: u32, timeout: impl IntoDuration) -> Self {
        let replicas = settings::replicas(count, timeout);
        self.set("replicas", replicas, |it| &mut it.options.replicas)
    }

    /// Asks `provider` for the user and the password of every connection, instead of taking them from the URL. Use it
    /// for tokens that expire and passwords that rotate. See [`CredentialsProvider`].
    ///
    /// ```no_run
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// use auto_mutex::{Config, Credentials};
    ///
    /// // A file that is rewritten when the password changes.
    /// let provider = |_| async {
    ///     let password = std::fs::read_to_string("/run/secrets/redis")?;
    ///     Ok(Credentials::new("locks", password.trim()).valid_for("10m"))
    /// };
    /// auto_mutex::setup(Config::new("rediss://10.0.0.1")?.credentials(provider))
    /// # }
    /// ```
    ///
    /// With a provider, a user or a password in the URL (also `sentinel_user` and `sentinel_pass`) is a
    /// [`SetupError::InvalidOption`]; in a `postgres://` URL, only a password is. For `memory://` the provider is not
    /// called. If the provider fails, or takes longer than `connect_timeout`, set-up fails with
    /// [`SetupError::Credentials`]. After set-up, the client tries again.
    pub fn credentials(mut self, provider: impl CredentialsProvider) -> Self {
        self.credentials = Some(Source::new(provider));
        self
    }

    /// Sets the observer that gets the metrics of this client's locks: calls, waits, holds, losses, answers of the
    /// store. By default there is none; a second call replaces the observer. `MetricsObserver` (feature `metrics`) and
    /// `OtelObserver` (feature `otel`) are ready to use. [`Metric`](crate::Metric) lists the metrics.
    ///
    /// ```
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// # struct MyObserver;
    /// # impl auto_mutex::Observer for MyObserver {
    /// #     fn add(&self, _: auto_mutex::Metric, _: &[(&'static str, &'static str)], _: i64) {}
    /// #     fn record(&self, _: auto_mutex::Metric, _: &[(&'static str, &'static str)], _: std::time::Duration) {}
    /// # }
    /// let config = auto_mutex::Config::new("memory://")?.observer(MyObserver);
    /// # Ok(()) }
    /// ```
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.settings.observer = Some(SharedObserver::new(observer));
        self
    }

    /// Allows calls to ask for a lock labelled `after` while they hold one labelled `before`, whatever other calls do:
    /// the client never warns that this order contradicts another. May be called several times.
    ///
    /// A label is the template of a site's names, as [`Site::name`](struct.Site.html#method.name) returns it and as the
    /// warning shows it, or the `metrics_label` of a handle. The namespace is not a part of it. For one annotated
    /// function, its option `order` does the same. The chapter [lock
    /// order](https://docs.rs/auto-mutex/latest/auto_mutex/_guide/lock_order) explains both.
    ///
    /// ```
    /// # fn main() -> Result<(), auto_mutex::SetupError> {
    /// let config = auto_mutex::Config::new("memory://")?
    ///     .allow_order("billing:Ledger:close:{month}", "billing:Account:settle:{self.id}");
    /// # Ok(()) }
    /// ```
    pub fn allow_order(mut self, before: impl Into<String>, after: impl Into<String>) -> Self {
        self.settings
            .allowed_orders
            .push((before.into(), after.into()));
        self
    }
}

impl FromStr for Config {
    type Err = SetupError;

    fn from_str(url: &str) -> Result<Self, SetupError> {
        Self::new(url)
    }
}

impl TryFrom<&str> for Config {
    type Error = SetupError;

    fn try_from(url: &str) -> Result<Self, SetupError> {
        Self::new(url)
    }
}

impl TryFrom<String> for Config {
    type Error = SetupError;

    fn try_from(url: String) -> Result<Self, SetupError> {
        Self::new(url)
    }
}

impl TryFrom<&String> for Config {
    type Error = SetupError;

    fn try_from(url: &String) -> Result<Self, SetupError> {
        Self::new(url)
    }
}

#[cfg(repository)]
#[cfg(test)]
mod tests;
