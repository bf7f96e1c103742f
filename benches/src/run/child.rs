//! Starts worker processes and exchanges lines with them.

use std::io::{BufRead, BufReader, Write};
use std::process::{self, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::de::DeserializeOwned;

use super::Placement;
use crate::Failure;
use crate::job::Job;
use crate::peer::external;
use crate::worker::talk::Span;

/// The longest wait for a worker's next line.
const PATIENCE: Duration = Duration::from_secs(120);

/// A worker process; the drop kills it.
pub(crate) struct Child {
    process: process::Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Child {
    /// Starts a worker. When it is set up, it prints the line `ready`.
    pub(crate) fn start(job: &Job, placement: Placement) -> Result<Self, Failure> {
        let mut command = placement.command();
        let external = match job {
            Job::Turns(turns) => external::program(turns.contender),
            _ => None,
        };
        if let Some((interpreter, program, _)) = external {
            let (variable, value) = external::environment();
            command.arg(interpreter).arg(program).env(variable, value);
        } else {
            command.arg(std::env::current_exe()?).arg("worker");
        }
        command.arg(serde_json::to_string(job)?);
        Self::spawn(command)
    }

    pub(crate) fn spawn(mut command: Command) -> Result<Self, Failure> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().ok_or("no stdout")?;
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            process,
            stdin,
            lines,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn go(&mut self, span: Span) -> Result<(), Failure> {
        let stdin = self.stdin.as_mut().ok_or("dismissed already")?;
        Ok(writeln!(stdin, "go {} {}", span.start, span.until)?)
    }

    /// Stops the process with SIGSTOP until the result is dropped: the process sends nothing and answers nothing.
    pub(crate) fn asleep(&self) -> Result<Asleep, Failure> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or("no process")?;
        kill_process(pid, Signal::STOP)?;
        Ok(Asleep(pid))
    }

    /// Closes the worker's input: the worker then ends its job.
    pub(crate) fn dismiss(&mut self) {
        self.stdin = None;
    }

    /// Waits for the worker's next line, which must begin with `word`, and returns the value after it.
    pub(crate) fn expect<T: DeserializeOwned>(&self, word: &str) -> Result<T, Failure> {
        let line = self
            .lines
            .recv_timeout(PATIENCE)
            .map_err(|_| format!("a worker ended or hangs before it was {word}"))?;
        let value = line
            .strip_prefix(word)
            .ok_or_else(|| format!("a worker said {line:?} before it was {word}"))?;
        Ok(serde_json::from_str(value.trim())?)
    }

    /// Waits until the worker has ended.
    pub(crate) fn wait(mut self) -> Result<(), Failure> {
        self.dismiss();
        let status = self.process.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("a worker failed: {status}").into())
        }
    }
}

/// See [`Child::asleep`].
pub(crate) struct Asleep(Pid);

impl Drop for Asleep {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
