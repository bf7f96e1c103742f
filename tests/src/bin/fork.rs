//! `test-fork URL`: forks while it holds a lock, and reports what parent and child may do then.
//!
//! Output lines: `child lock …`, `child guard …`, `child gone`, `parent check …`, `parent unlocked …`.

use std::io::Write;
use std::process::ExitCode;

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
            ExitCode::SUCCESS
        }
    }
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
        // library resets the allocator. The child only calls the library under test, which is the purpose of this program,
        // and ends.
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
