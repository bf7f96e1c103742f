//! Pins processes to processors. A command over a socket takes several times as long across processors as on one
//! processor. A process that is not pinned changes between the two cases, so every process is pinned.

use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::Failure;

const SERVER: &str = "0";

/// The processors of the clients. The server is always on processor 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Placement {
    /// On processor 0, with the server.
    Same,
    /// On processor 1.
    Split,
    /// On both processors.
    Both,
    /// On processor 1, without a server.
    Alone,
}

impl Placement {
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Split => "split",
            Self::Both => "both",
            Self::Alone => "alone",
        }
    }

    fn processors(self) -> &'static str {
        match self {
            Self::Same => "0",
            Self::Split | Self::Alone => "1",
            Self::Both => "0,1",
        }
    }

    /// Returns the beginning of a command that runs on these processors.
    pub(crate) fn command(self) -> Command {
        let mut command = Command::new("taskset");
        command.args(["-c", self.processors()]);
        command
    }
}

/// Moves a running server to its processor.
pub(crate) fn server(pid: u32) -> Result<(), Failure> {
    let status = Command::new("taskset")
        .args(["-a", "-c", "-p", SERVER, &pid.to_string()])
        .stdout(Stdio::null())
        .status()
        .map_err(|error| format!("taskset (of util-linux) is needed: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("taskset could not pin the server to processor 0".into())
    }
}
