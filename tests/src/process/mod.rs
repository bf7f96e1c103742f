//! Signals to other processes: kill, stop, continue, terminate.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, waitpid};

/// Sends a signal. It is no error if the process has already ended.
fn signal(pid: u32, signal: Signal) {
    match kill_process(of(pid), signal) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("signal {signal:?} to {pid}: {error}"),
    }
}

fn of(pid: u32) -> Pid {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .expect("a process id")
}

/// Kills the process at once: it cannot run any cleanup.
pub fn kill9(pid: u32) {
    signal(pid, Signal::KILL);
}

/// Kills all processes of a group at once.
pub fn kill9_group(leader: u32) {
    match kill_process_group(of(leader), Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => {}
        Err(error) => panic!("kill group {leader}: {error}"),
    }
}

/// Suspends the process.
pub fn stop(pid: u32) {
    signal(pid, Signal::STOP);
}

/// Suspends a child of this process, and returns when the child is suspended.
pub fn stop_child(pid: u32) {
    stop(pid);
    // An error means that the child has ended, and other code has already waited for it.
    let _ = waitpid(Some(of(pid)), WaitOptions::UNTRACED);
}

/// Resumes a suspended process.
pub fn cont(pid: u32) {
    signal(pid, Signal::CONT);
}

/// Asks the process to end.
pub fn terminate(pid: u32) {
    signal(pid, Signal::TERM);
}

/// Asks the process to end, as Ctrl-C does.
pub fn interrupt(pid: u32) {
    signal(pid, Signal::INT);
}
