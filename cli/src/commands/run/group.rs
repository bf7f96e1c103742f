//! [`Group`]: the process group of the command, with all that the command has started and that has not left the group.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, waitpgid,
};

/// A process group. Its number is the process id of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Group(Pid);

impl Group {
    pub(super) fn new(number: u32) -> Option<Self> {
        let number = i32::try_from(number).ok().filter(|number| *number > 1)?;
        Pid::from_raw(number).map(Self)
    }

    pub(super) fn number(self) -> i32 {
        self.0.as_raw_pid()
    }

    pub(super) fn send(self, signal: Signal) {
        // The group may already have ended, so errors are ignored.
        let _ = kill_process_group(self.0, signal);
    }

    /// Whether no process of the group is left.
    pub(super) fn is_gone(self) -> bool {
        match test_kill_process_group(self.0) {
            Err(Errno::SRCH) => true,
            // macOS says so of a group that only has zombies, Linux of one with processes of other users.
            Err(Errno::PERM) => !cfg!(target_os = "linux"),
            _ => false,
        }
    }

    /// Removes what has ended of the group and has no other parent than this process. Only after the command itself
    /// has ended, because its status is lost otherwise.
    pub(super) fn reap(self) {
        while let Ok(Some(_)) = waitpgid(self.0, WaitOptions::NOHANG) {}
    }
}
