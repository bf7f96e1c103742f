//! Exit codes and errors of commands.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use auto_mutex::{LockError, SetupError};

/// The result of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The command has found a cycle of waiters, or a problem.
    Finding,
    /// `kick`: the lock has no hold with the given token.
    Precondition,
    /// The exit code of the command started by `run`, or of `run` itself.
    Code(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Finding => 3,
            Exit::Precondition => 4,
            Exit::Code(code) => code,
        })
    }
}

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The reader of the output has gone, which is not an error.
    Unread,
    /// Wrong usage.
    Usage(String),
    Setup(SetupError),
    Lock(LockError),
    Other(String),
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Unread => 0,
            Self::Usage(_) => 2,
            Self::Setup(
                SetupError::InvalidUrl { .. }
                | SetupError::UnsupportedStore { .. }
                | SetupError::InvalidOption { .. }
                | SetupError::Environment { .. },
            )
            | Self::Lock(LockError::InvalidName { .. } | LockError::InvalidOption { .. }) => 2,
            Self::Setup(error) if error.is_transient() => 5,
            Self::Lock(error) if error.is_transient() => 5,
            Self::Setup(_) | Self::Lock(_) | Self::Other(_) => 1,
        }
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        Self::Setup(error)
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        match error.io_error_kind() {
            Some(kind) => io::Error::from(kind).into(),
            None => Self::Other(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread => Ok(()),
            Self::Usage(text) | Self::Other(text) => f.write_str(text),
            Self::Setup(error) => chain(f, error),
            Self::Lock(error) => chain(f, error),
        }
    }
}

/// Writes an error with its sources.
fn chain(f: &mut fmt::Formatter<'_>, error: &dyn Error) -> fmt::Result {
    write!(f, "{error}")?;
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(f, ": {error}")?;
        cause = error.source();
    }
    Ok(())
}

/// The result of a command.
pub(crate) type Outcome = Result<Exit, Failure>;

#[cfg(test)]
mod tests {
    use auto_mutex::Config;

    use super::*;

    #[test]
    fn codes_are_those_of_the_help() {
        let wrong_url = Config::new("no URL").unwrap_err();
        let codes = [
            (Failure::Unread, 0),
            (Failure::Other("r".to_owned()), 1),
            (Failure::Usage("r".to_owned()), 2),
            (Failure::Setup(wrong_url), 2),
            (Failure::Setup(SetupError::AlreadySetUp), 1),
            (Failure::Lock(LockError::unavailable("n")), 5),
            (Failure::Lock(LockError::deadlock("n")), 1),
            (io::Error::from(io::ErrorKind::BrokenPipe).into(), 0),
            (io::Error::from(io::ErrorKind::StorageFull).into(), 1),
        ];
        for (failure, code) in codes {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }
}
