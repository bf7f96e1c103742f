//! `test-fork URL`: forks while it holds a lock, and reports what parent and child may do then. Then forks children while
//! other threads lock the library's list of clients; each child makes a client of its own.
//!
//! Output lines: `child lock …`, `child guard …`, `child gone`, `parent check …`, `parent unlocked …`, `children connected`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use auto_mutex::{Client, LockError};

fn main() -> ExitCode {
    let url = std::env::args().nth(1).expect("usage: test-fork URL");
    let client = Client::connect(url.as_str()).expect("a client");
    let guard = client.mutex("forked").blocking_lock().expect("the lock");
    match os::fork() {
        None => {
            say(&format!(
                "child lock {}",
                forked(
                    &client
                        .mutex("other")
                        .block(std::time::Duration::ZERO)
                        .blocking_lock()
                )
            ));
            say(&format!("child guard {}", forked(&guard.check())));
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
            children_connect();
            say("children connected");
            ExitCode::SUCCESS
        }
    }
}

/// Forks children, one after the other. Probably many of them find the parent's list of clients locked. A child that waits
/// for that list never ends.
fn children_connect() {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    drop(auto_mutex::lock_order());
                }
            });
        }
        for _ in 0..50 {
            match os::fork() {
                None => {
                    drop(Client::connect("memory://").expect("a client of the child"));
                    // The child must not leave the scope, which would wait for threads that exist only in the parent.
                    std::process::exit(0);
                }
                Some(child) => os::wait(child),
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

fn forked<T>(result: &Result<T, LockError>) -> String {
    match result {
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

/// `fork` has no safe wrapper: the child has only the thread that called `fork`, so a lock that another thread held at that
/// moment stays locked in the child.
#[allow(unsafe_code)]
mod os {
    /// The child's process id in the parent, `None` in the child.
    pub(super) fn fork() -> Option<libc::pid_t> {
        // SAFETY: the library's own threads hold no lock that matters across this call: they do not lock stdout, and the C
        // library resets the locks of its allocator. The child only calls the library under test, which is the purpose of
        // this program, and ends.
        match unsafe { libc::fork() } {
            0 => None,
            child if child > 0 => Some(child),
            _ => panic!("fork: {}", std::io::Error::last_os_error()),
        }
    }

    pub(super) fn wait(child: libc::pid_t) {
        let mut status = 0;
        // SAFETY: `status` lives longer than the call, and `child` is our child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
    }
}
