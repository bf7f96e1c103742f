//! `auto-mutex run`: runs a command under a lock.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use auto_mutex::{Client, LockError, MutexGuard, Permit};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::args::{Global, Run};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::complain;
use crate::output::words::closed_for;
use crate::signals::{Signals, by_signal};
use crate::store::config;

/// The exit codes of `run` itself: see `run --help`.
mod code {
    pub(crate) const UNAVAILABLE: u8 = 69;
    pub(crate) const HELD: u8 = 75;
    pub(crate) const LOST: u8 = 79;
    pub(crate) const CANNOT_RUN: u8 = 126;
    pub(crate) const NOT_FOUND: u8 = 127;
}

/// A hold of a mutex, or of a semaphore with `--semaphore`.
enum Guard {
    Mutex(MutexGuard),
    Permit(Permit),
}

impl Guard {
    fn token(&self) -> u64 {
        match self {
            Self::Mutex(guard) => guard.fencing_token(),
            Self::Permit(permit) => permit.fencing_token(),
        }
    }

    async fn lost(&self) {
        match self {
            Self::Mutex(guard) => guard.lost().await,
            Self::Permit(permit) => permit.lost().await,
        }
    }

    fn check(&self) -> Result<(), LockError> {
        match self {
            Self::Mutex(guard) => guard.check(),
            Self::Permit(permit) => permit.check(),
        }
    }

    /// Releases the lock, and waits for the store to confirm.
    async fn release(self) -> Result<(), LockError> {
        match self {
            Self::Mutex(guard) => guard.unlock().await.map(drop),
            Self::Permit(permit) => permit.release().await.map(drop),
        }
    }
}

pub(crate) fn run(global: &Global, args: &Run) -> Outcome {
    if args.name.contains('%') {
        return Err(Failure::Usage(
            "give the name as a program does, without percent-encoding".to_owned(),
        ));
    }
    // Only the program's name, because arguments may contain secrets.
    let command = args.command[0].to_string_lossy();
    let mut config = config(global)?
        .lease(args.lease)
        .trust_failover(args.trust_failover)
        .site(match args.command.len() {
            1 => command.into_owned(),
            _ => format!("{command} …"),
        });
    if let Some(namespace) = args.within.namespace() {
        config = config.namespace(namespace);
    }
    let client = match Client::connect(config) {
        Ok(client) => client,
        Err(error) => {
            let failure = Failure::from(error);
            if failure.code() == 2 {
                return Err(failure);
            }
            complain(&failure);
            return Ok(Exit::Code(code::UNAVAILABLE));
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let exit = runtime.block_on(under_lock(&client, args));
    client.blocking_shutdown();
    exit
}

async fn under_lock(client: &Client, args: &Run) -> Outcome {
    // Signals are caught before the lock is taken, so that none ends this process while its command runs.
    let mut signals = Signals::new()?;
    let taken = tokio::select! {
        taken = take(client, args) => taken,
        never = tell_of_closed(client) => match never {},
        signal = signals.next() => return Ok(Exit::Code(by_signal(signal.as_raw()))),
    };
    let guard = match taken {
        Ok(guard) => guard,
        Err(error) => return refused(error),
    };
    let mut command = Command::new(&args.command[0]);
    command
        .args(&args.command[1..])
        .env("AUTO_MUTEX_TOKEN", guard.token().to_string())
        .process_group(0);
    // The command gets no terminal as input, because the kernel stops background process groups that read from one.
    if io::IsTerminal::is_terminal(&io::stdin()) {
        command.stdin(Stdio::null());
    }
    let exit = match command.spawn() {
        Ok(child) => watch(child, &guard, &mut signals, args.grace).await,
        Err(error) => {
            complain(&format!("{}: {error}", args.command[0].to_string_lossy()));
            Ok(Exit::Code(match error.kind() {
                io::ErrorKind::NotFound => code::NOT_FOUND,
                _ => code::CANNOT_RUN,
            }))
        }
    };
    if let Err(error) = guard.release().await
        && !matches!(error, LockError::Lost { .. })
    {
        complain(&format!("released by the end of its lease: {error}"));
    }
    exit
}

async fn take(client: &Client, args: &Run) -> Result<Guard, LockError> {
    // Without `--expire`, there is no limit: the lock is released when the command ends, or expires with its lease if
    // this process dies.
    macro_rules! with_options {
        ($handle:expr) => {{
            let mut handle = match args.expire {
                Some(expire) => $handle.expire(expire),
                None => $handle.never_expire(),
            };
            if let Some(block) = args.block {
                handle = handle.block(block);
            }
            if let Some(at_least) = args.at_least {
                handle = handle.at_least(at_least);
            }
            handle
        }};
    }
    Ok(match args.semaphore {
        None => Guard::Mutex(with_options!(client.mutex(&args.name)).lock().await?),
        Some(permits) => {
            let semaphore = with_options!(client.semaphore(&args.name, permits));
            Guard::Permit(semaphore.acquire().await?)
        }
    })
}

/// Explains the wait while the store grants nothing.
async fn tell_of_closed(client: &Client) -> Infallible {
    let mut is_told = false;
    loop {
        sleep(Duration::from_millis(500)).await;
        let closed = client.health().closed_for;
        if let Some(left) = closed.filter(|_| !is_told) {
            complain(&format!("waiting: the lock store {}", closed_for(left)));
        }
        is_told = closed.is_some();
    }
}

fn refused(error: LockError) -> Outcome {
    let code = match error {
        ref error if error.is_timeout() => code::HELD,
        ref error if error.is_transient() => code::UNAVAILABLE,
        error => return Err(error.into()),
    };
    complain(&Failure::from(error));
    Ok(Exit::Code(code))
}

/// Waits for the end of the command, and passes signals on to its group. If the lock is lost, ends the command.
async fn watch(mut child: Child, guard: &Guard, signals: &mut Signals, grace: Duration) -> Outcome {
    let group = Group(child.id());
    let mut lost = std::pin::pin!(guard.lost());
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(Exit::Code(of_status(ended?))),
            signal = signals.next() => group.send(signal),
            () = &mut lost => break,
        }
    }
    let why = guard
        .check()
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    complain(&format!("{why}: the command is ended"));
    group.send(Signal::TERM);
    let ended = patiently(child.wait(), signals, &group, grace).await;
    // Processes started by the command may still be running, so the whole group is killed.
    group.send(Signal::KILL);
    if !ended {
        child.wait().await?;
    }
    Ok(Exit::Code(code::LOST))
}

/// Whether `end` completes within `grace`. Signals are passed on to the group in the meantime.
async fn patiently(
    end: impl Future<Output = io::Result<ExitStatus>>,
    signals: &mut Signals,
    group: &Group,
    grace: Duration,
) -> bool {
    let mut end = std::pin::pin!(end);
    let ended = timeout(grace, async {
        loop {
            tokio::select! {
                _ = &mut end => return,
                signal = signals.next() => group.send(signal),
            }
        }
    });
    ended.await.is_ok()
}

/// The command's process group. Its number is the command's process id.
struct Group(Option<u32>);

impl Group {
    fn send(&self, signal: Signal) {
        let number = self.0.and_then(|number| i32::try_from(number).ok());
        if let Some(group) = number.and_then(Pid::from_raw) {
            // The group may already have ended, so errors are ignored.
            let _ = kill_process_group(group, signal);
        }
    }
}

fn of_status(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(1),
        (None, Some(signal)) => by_signal(signal),
        (None, None) => 1,
    }
}
