//! [`TestStore`]: what a test of the suite needs of its store.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::time::{Duration, SystemTime};

use auto_mutex::{Client, Config};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::events::{LONG, PATIENCE, finishes_within, soon};
use crate::real_time::LIMIT;
use crate::redis::Redis;
use crate::runtimes::current_thread;

/// A store for one test, with any number of members.
pub trait TestStore: Send + Sync {
    /// The server of the store, if there is just one.
    fn server(&self) -> Option<&Redis> {
        None
    }

    /// Suspends servers so that the store does not answer, or lets it answer again; `false` if that is impossible.
    fn answer(&self, answers: bool) -> bool {
        let server = self.server();
        suspend(server.as_slice(), !answers)
    }

    /// Deletes the store's state of the lock `name`; `false` if that is impossible.
    fn forget(&self, name: &str) -> bool {
        let forget = |server: &Redis| drop(server.command(&["DEL", &key(name)]));
        self.server().map(forget).is_some()
    }

    /// Whether clients may keep locks between calls: see [`Config::retain`].
    fn keeps(&self) -> bool {
        true
    }

    /// Whether a time is exact here, because the clock is the test's. Elsewhere, a process or a server may stand still
    /// at any moment.
    fn has_virtual_time(&self) -> bool {
        false
    }

    /// Whether this is the process id of a member.
    fn is_ours(&self, pid: u32) -> bool {
        pid == std::process::id()
    }

    /// Whether this was in the test, by the store's clock.
    fn is_lately(&self, time: SystemTime) -> bool {
        time.elapsed().is_ok_and(|ago| ago < 10 * PATIENCE)
    }

    /// A configuration for a new member, with a lease that outlasts the test, so that no event in it is caused by the
    /// end of a lease.
    fn config(&self) -> Config;

    /// Runs `work` on a thread of its own.
    fn spawn(&self, work: Box<dyn FnOnce() + Send>) {
        std::thread::spawn(work);
    }

    /// A new member, with the lease of [`config`](Self::config).
    fn member(&self) -> Client {
        Client::connect(self.config()).expect("a client")
    }
}

impl dyn TestStore + '_ {
    /// New members.
    pub fn members<const N: usize>(&self) -> [Client; N] {
        std::array::from_fn(|_| self.member())
    }

    /// Runs `work`, which may block, on a thread of its own from now on.
    pub fn thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let (ends, ended) = oneshot::channel();
        self.spawn(Box::new(move || {
            let _ = ends.send(catch_unwind(AssertUnwindSafe(work)));
        }));
        tokio::spawn(async {
            let result = soon("the thread ends", ended).await;
            result
                .expect("a result")
                .unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}

/// Suspends or resumes servers; `false` if there are none.
pub(super) fn suspend(servers: &[&Redis], suspended: bool) -> bool {
    let act = if suspended { Redis::stop } else { Redis::cont };
    servers.iter().for_each(|server| act(server));
    !servers.is_empty()
}

/// The key of a lock of the suite.
pub(super) fn key(name: &str) -> String {
    format!("auto_mutex:{{suite:{name}}}")
}

pub(super) fn config(url: String) -> Config {
    suits(Config::new(url).expect("a good URL")).patient()
}

/// The options of the suite.
pub(super) fn suits(config: Config) -> Config {
    config.namespace("suite").lease(LONG).connect_timeout("60s")
}

/// A waiter that was silent for this time may be passed over, and a lock that a client keeps may become free.
const SILENT: Duration = Duration::from_secs(2);

/// Checks what the store promises only to clients that it hears of. If the machine stands still for longer than the
/// store waits for a client, nothing is promised.
#[derive(Debug)]
pub struct Heard(Instant);

impl Heard {
    /// Begins with a check's first request.
    pub fn from_now() -> Self {
        Self(Instant::now())
    }

    /// Fails if the values differ, unless a client may have been silent.
    #[track_caller]
    pub fn assert_eq<T: Debug + PartialEq + ?Sized>(&self, value: &T, expected: &T) {
        let holds = value == expected || self.0.elapsed() >= SILENT;
        assert!(holds, "{value:?} instead of {expected:?}");
    }
}

/// A test of the suite, for any store.
pub type Case = for<'a> fn(&'a dyn TestStore) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Runs `case` on a `new` store in a current-thread runtime, with a time limit.
#[track_caller]
pub fn run<S: TestStore + 'static>(new: fn() -> S, case: Case) {
    let store: Box<dyn TestStore> = Box::new(new());
    finishes_within(LIMIT, "the test ends", move || {
        current_thread().block_on(case(&*store));
    });
}
