//! `test-fork URL WHAT`: forks, and reports what parent and child can do afterwards. The tests say which lines it
//! writes.
//!
//! | `WHAT` | when it forks |
//! |---|---|
//! | `holding` | while it holds a lock by hand; then while other threads make clients and take locks |
//! | `keeping` | while the client keeps a lock between its calls |
//! | `setup` | after `setup`, and in the child again; inside `setup`; inside an annotated function |
//! | `signals` | after `release_on_termination`, and in the child again |

use std::cell::Cell;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use auto_mutex::test::{self, Runs};
use auto_mutex::{Client, Config, Deadlock, LockError, SetupError, auto_mutex};
use auto_mutex_tests::events::{LONG, eventually_within};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(what)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: test-fork URL WHAT");
        return ExitCode::from(2);
    };
    match &*what {
        "holding" => holding(&url),
        "keeping" => keeping(&url),
        "setup" => set_up(&url),
        "signals" => signals(&url),
        _ => ExitCode::from(2),
    }
}

fn holding(url: &str) -> ExitCode {
    let client = Client::connect(url).expect("a client");
    let guard = client.mutex("forked").blocking_lock().expect("the lock");
    match os::fork() {
        None => {
            say(&format!(
                "child lock {}",
                outcome(
                    &client
                        .mutex("other")
                        .block(std::time::Duration::ZERO)
                        .blocking_lock()
                )
            ));
            say(&format!("child guard {}", outcome(&guard.check())));
            // These drops in the child must not release the parent's lock.
            drop(guard);
            drop(client);
            ExitCode::SUCCESS
        }
        Some(child) => {
            os::wait(child);
            say("child gone");
            say(&format!("parent check {}", guard.check().is_ok()));
            say(&format!("parent unlocked {:?}", guard.blocking_unlock()));
            children_connect(&client);
            say("children connected");
            ExitCode::SUCCESS
        }
    }
}

fn keeping(url: &str) -> ExitCode {
    let connect = || Client::connect(url).expect("a client");
    let client = connect();
    let mutex = client.mutex("kept").retain("600s");
    let enter = || mutex.blocking_lock().expect("the lock").fencing_token();
    let first = enter();
    let kept = || mutex.blocking_info().expect("an answer").kept;
    say(&format!("parent keeps {}", kept()));
    let attempt = mutex.clone().block(std::time::Duration::ZERO);
    in_child(|| {
        say(&format!("child call {}", outcome(&attempt.blocking_lock())));
        say(&format!(
            "child handle {}",
            outcome(&mutex.blocking_try_lock())
        ));
        drop((mutex.clone(), client.clone()));
    });
    say(&format!("parent keeps {}", kept()));
    let second = enter();
    in_child(|| {
        // The parent's threads release the lock for this client.
        let guard = connect().mutex("kept").blocking_lock().expect("the lock");
        say(&format!("child token {}", guard.fencing_token() > second));
        let _ = guard.blocking_unlock();
    });
    say(&format!(
        "parent token {}",
        first < second && second < enter()
    ));
    ExitCode::SUCCESS
}

/// Forks children one after another. Many of them probably find something that the parent had locked. A child that
/// waits for it never ends.
///
/// No thread of the parent may start or end meanwhile: the standard library then locks its list of threads, and in a
/// child that is forked at that moment, no thread ever gets to work. So `client` has all its threads by now, and the
/// clients made meanwhile are those of Worlds, which have none.
fn children_connect(client: &Client) {
    let is_over = AtomicBool::new(false);
    let started = Barrier::new(5);
    let whatever: [&(dyn Fn() + Sync); 4] = [
        &|| drop(auto_mutex::lock_order()),
        &|| drop(auto_mutex::lock_order()),
        &|| drop(client.mutex("m").reentrant().blocking_lock()),
        &|| test::run(Runs::new(), async |_| drop(Client::connect("memory://"))),
    ];
    thread::scope(|scope| {
        for some in whatever {
            scope.spawn(|| {
                started.wait();
                while !is_over.load(Ordering::Relaxed) {
                    some();
                }
            });
        }
        started.wait();
        for _ in 0..50 {
            match os::fork() {
                None => {
                    auto_mutex::setup("memory://").expect("a client of the child");
                    drop(auto_mutex::Mutex::new("m").reentrant().blocking_lock());
                    // The child must not leave the scope, which would wait for threads that exist only in the parent.
                    std::process::exit(0);
                }
                Some(child) => drop(os::wait(child)),
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Runs `child` in a forked child, and waits for its end.
fn in_child(child: impl FnOnce()) {
    match os::fork() {
        None => {
            child();
            std::process::exit(0);
        }
        Some(child) => drop(os::wait(child)),
    }
}

thread_local! {
    /// Whether [`bare`] forks a child.
    static FORKS: Cell<bool> = const { Cell::new(false) };
}

#[auto_mutex(name = "bare")]
fn bare() -> Result<(), LockError> {
    if FORKS.take() {
        in_child(|| {
            let url = std::env::args().nth(1).expect("the URL");
            let config = Config::new(url).expect("a configuration");
            let waits = config.deadlock(Deadlock::Fail).deadlock_after("20ms");
            auto_mutex::setup(waits).expect("a client of the child");
            // The child does not hold the parent's locks: no re-entry, no order and no deadlock.
            say(&format!("child inside {}", outcome(&same())));
            let other = auto_mutex::Mutex::new("other").metrics_label("other");
            say(&format!("child other {}", outcome(&other.blocking_lock())));
            say(&format!("child order {:?}", auto_mutex::lock_order()));
        });
    }
    Ok(())
}

/// Takes the same lock as [`bare`].
#[auto_mutex(name = "bare", block = 0.5)]
fn same() -> Result<(), LockError> {
    Ok(())
}

/// A configuration whose conversion, which `setup` calls, forks a child that calls `setup` itself.
struct Forking<'a>(&'a str);

impl TryFrom<Forking<'_>> for Config {
    type Error = SetupError;

    fn try_from(Forking(url): Forking<'_>) -> Result<Self, Self::Error> {
        in_child(|| generations(url, 1));
        Self::new(url)
    }
}

fn set_up(url: &str) -> ExitCode {
    say(&format!("before {}", outcome(&bare())));
    auto_mutex::setup(Forking(url)).expect("a client");
    say(&format!("parent {}", outcome(&bare())));
    // More than eight generations, each of which sets up.
    in_child(|| {
        say(&format!("child {}", outcome(&bare())));
        generations(url, 10);
    });
    FORKS.set(true);
    say(&format!("parent {}", outcome(&bare())));
    ExitCode::SUCCESS
}

/// Sets up, and forks a child that does the same, until there are `count` generations.
fn generations(url: &str, count: u32) {
    let results = [(); 2].map(|()| auto_mutex::setup(url));
    let [Ok(()), Err(SetupError::AlreadySetUp)] = results else {
        panic!("{results:?}");
    };
    say(&format!("set up {}", outcome(&bare())));
    if count > 1 {
        in_child(|| generations(url, count - 1));
    }
}

fn signals(url: &str) -> ExitCode {
    let client = Client::connect(url).expect("a client");
    auto_mutex::release_on_termination().expect("a handler");
    // Some of these children get the signal before `fork` has returned.
    for _ in 0..50 {
        assert_eq!(terminated(os::fork().unwrap_or_else(|| idle())), Some(15));
    }
    say("children died");
    let holds = |name| {
        let config = Config::new(url).expect("a configuration").lease(LONG);
        auto_mutex::setup(config).expect("a client of the child");
        auto_mutex::release_on_termination_within("0s").expect("a handler");
        let guard = auto_mutex::Mutex::new(name).blocking_lock();
        guard.expect("the lock of the child")
    };
    let child = os::fork().unwrap_or_else(|| {
        let _guard = holds("outer");
        assert_eq!(terminated(os::fork().unwrap_or_else(|| idle())), Some(15));
        let _inner = os::fork().is_none().then(|| holds("inner"));
        idle()
    });
    let locked = |name| client.mutex(name).blocking_info().expect("an answer");
    // The end of a lease would come too late for these checks.
    let holder = |name| locked(name).holders.first().map(|holder| holder.pid);
    let until = |name, is: bool| eventually_within(LONG / 2, name, || holder(name).is_some() == is);
    until("outer", true);
    until("inner", true);
    for name in ["inner", "outer"] {
        let pid = holder(name).expect("a holder");
        match i32::try_from(pid) == Ok(child) {
            true => say(&format!("{name} died of {:?}", terminated(child))),
            false => auto_mutex_tests::process::terminate(pid),
        }
        until(name, false);
        say(&format!("{name} is free"));
    }
    ExitCode::SUCCESS
}

/// Sleeps forever.
fn idle() -> ! {
    loop {
        thread::park();
    }
}

/// Ends a child by SIGTERM. Returns the signal that killed it.
fn terminated(child: i32) -> Option<i32> {
    auto_mutex_tests::process::terminate(child.cast_unsigned());
    os::wait(child)
}

fn outcome<T>(result: &Result<T, LockError>) -> String {
    match result {
        Err(LockError::NotSetUp) => "not set up".to_owned(),
        Err(LockError::Timeout { .. }) => "busy".to_owned(),
        Err(LockError::Forked) => "forked".to_owned(),
        Err(LockError::Lost { .. }) => "lost".to_owned(),
        Err(error) => format!("{error:?}"),
        Ok(_) => "allowed".to_owned(),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// `fork` has no safe wrapper: the child has only the calling thread, so a lock that another thread held stays locked
/// there.
#[allow(unsafe_code)]
mod os {
    /// The child's process id in the parent, `None` in the child.
    pub(super) fn fork() -> Option<libc::pid_t> {
        // SAFETY: the library's threads hold no lock that matters here: they do not lock stdout, and the C library
        // resets its allocator's locks. The child only calls the library under test, which is the purpose of this
        // program, and then ends.
        match unsafe { libc::fork() } {
            0 => None,
            child if child > 0 => Some(child),
            _ => panic!("fork: {}", std::io::Error::last_os_error()),
        }
    }

    /// Waits for the end of `child`. Returns the signal that killed it.
    pub(super) fn wait(child: libc::pid_t) -> Option<i32> {
        let mut status = 0;
        // SAFETY: `status` lives longer than the call, and `child` is our child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status))
    }
}
