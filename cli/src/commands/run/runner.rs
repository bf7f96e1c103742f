//! The runner: the process that the user has started. Runs the command, passes signals on to its process group, and
//! ends with its exit code. It doesn't know the lock store.

use std::env;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{self, ChildStdin, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};
use tokio::process::{Child, Command};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};

use super::group::Group;
use super::messages::{Moment, Order, Report, receive, send};
use super::{IS_HOLDER, LOOK, code, lease};
use crate::args::Run;
use crate::exit::{Exit, Outcome};
use crate::output::complain;
use crate::signals::{self, Signals, by_signal};

pub(super) fn run(args: &Run) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run_command(args))
}

async fn run_command(args: &Run) -> Outcome {
    // Caught before the lock is taken, so that no signal ends this process while its command runs.
    let mut signals = Signals::new(&signals::PASSED_ON)?;
    let mut holder = Holder::start(args)?;
    let token = loop {
        tokio::select! {
            token = holder.granted() => match token {
                Some(token) => break token,
                None => return holder.exit(),
            },
            signal = signals.next() => match signal {
                Signal::TSTP if is_init() => {}
                // A stopped runner takes no lock: its command could not start.
                Signal::TSTP => {
                    holder.signal(Signal::STOP);
                    stop_this_process();
                }
                Signal::CONT => holder.signal(Signal::CONT),
                signal => {
                    holder.leave().await;
                    return Ok(Exit::Code(by_signal(signal.as_raw())));
                }
            },
        }
    };
    let exit = under_lock(args, token, &mut holder, &mut signals).await;
    holder.order(&Order::Release);
    holder.leave().await;
    exit
}

async fn under_lock(args: &Run, token: u64, holder: &mut Holder, signals: &mut Signals) -> Outcome {
    if holder.left().is_zero() {
        complain(&"the lock was lost before the command could start");
        return Ok(Exit::Code(code::LOST));
    }
    let mut command = Command::new(&args.command[0]);
    command
        .args(&args.command[1..])
        .env("AUTO_MUTEX_TOKEN", token.to_string())
        // It may have a password.
        .env_remove("AUTO_MUTEX_URL")
        .process_group(0);
    // The command gets no terminal as input, because the kernel stops background process groups that read from one.
    if io::IsTerminal::is_terminal(&io::stdin()) {
        command.stdin(Stdio::null());
    }
    adopt_orphans();
    match command.spawn() {
        Ok(child) => watch(child, holder, signals).await,
        Err(error) => {
            complain(&format!("{}: {error}", args.command[0].to_string_lossy()));
            Ok(Exit::Code(match error.kind() {
                io::ErrorKind::NotFound => code::NOT_FOUND,
                _ => code::CANNOT_RUN,
            }))
        }
    }
}

/// Waits for the end of the command and of its group, and passes signals on. Kills the group if the holder neither
/// renews the lease nor does it itself.
async fn watch(mut child: Child, holder: &mut Holder, signals: &mut Signals) -> Outcome {
    let Some(group) = child.id().and_then(Group::new) else {
        return Ok(Exit::Code(of_status(child.wait().await?)));
    };
    holder.order(&Order::Guard(group));
    let (mut ended, mut is_killed) = (None, false);
    while ended.is_none() || !group.is_gone() {
        if ended.is_some() {
            group.reap();
        }
        tokio::select! {
            status = child.wait(), if ended.is_none() => ended = Some(status?),
            signal = signals.next() => match signal {
                Signal::TSTP if is_init() => {}
                // The holder goes on renewing the lease, so the command still has the lock when it continues.
                Signal::TSTP => {
                    group.send(Signal::STOP);
                    stop_this_process();
                }
                signal => group.send(signal),
            },
            () = holder.gone(), if !is_killed => {
                if !holder.is_lost {
                    complain(&"the process that renews the lease has ended or hangs: the command is killed");
                    holder.is_lost = true;
                }
                group.send(Signal::KILL);
                is_killed = true;
            }
            () = sleep(LOOK), if ended.is_some() => {}
        }
    }
    Ok(Exit::Code(match (holder.is_lost, ended) {
        (false, Some(status)) => of_status(status),
        _ => code::LOST,
    }))
}

/// On Linux, makes this process the parent of orphans, so that [`Group::reap`] works where process 1 reaps nothing, as
/// in some containers.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

/// The kernel doesn't stop the first process of a container, so nobody could continue what that has stopped.
fn is_init() -> bool {
    getpid() == Pid::INIT
}

/// Returns when this process is continued.
fn stop_this_process() {
    let _ = kill_process(getpid(), Signal::STOP);
}

/// The holder process, and what it has reported.
struct Holder {
    process: process::Child,
    /// Its end tells the holder that this process has gone.
    orders: Option<ChildStdin>,
    reports: UnboundedReceiver<Report>,
    until: Option<Moment>,
    is_lost: bool,
    /// When the holder is asked how long the lease lasts.
    ticks: Interval,
    /// How many questions it has not answered.
    silent: u32,
}

impl Holder {
    fn start(args: &Run) -> io::Result<Self> {
        let mut process = process::Command::new(this_program()?)
            .args(env::args_os().skip(1))
            .env(IS_HOLDER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // The keys of a terminal are for the runner.
            .process_group(0)
            .spawn()?;
        let (orders, reports) = (process.stdin.take(), process.stdout.take());
        let mut ticks = interval((lease(args) / 16).min(Duration::from_millis(500)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            process,
            orders,
            reports: receive(reports.ok_or(io::ErrorKind::BrokenPipe)?),
            until: None,
            is_lost: false,
            ticks,
            silent: 0,
        })
    }

    /// Returns the fencing token when the lock is held, and `None` if the holder ends without it.
    async fn granted(&mut self) -> Option<u64> {
        loop {
            match self.reports.recv().await? {
                Report::Granted(token) => return Some(token),
                report => self.heed(report),
            }
        }
    }

    /// Completes when the holder has gone, or hasn't answered until the command had to end. Asks it from time to time.
    async fn gone(&mut self) {
        loop {
            // After this process was stopped, the next tick comes at once, and answers have not been read yet.
            let (left, is_silent) = (self.left(), self.silent > 2 && !self.is_lost);
            tokio::select! {
                report = self.reports.recv() => match report {
                    Some(report) => self.heed(report),
                    None => return,
                },
                () = sleep(left), if is_silent => if self.left().is_zero() {
                    return;
                },
                _ = self.ticks.tick(), if !self.is_lost => {
                    self.order(&Order::Ask);
                    self.silent += 1;
                }
            }
        }
    }

    fn heed(&mut self, report: Report) {
        match report {
            Report::Until(until) => {
                self.until = Some(until);
                self.silent = 0;
            }
            Report::Say(text) => complain(&text),
            // The holder ends the command, and is not asked any more.
            Report::Lost => self.is_lost = true,
            Report::Granted(_) => {}
        }
    }

    /// The time until the command must have ended. Before a grant, there is no limit.
    fn left(&self) -> Duration {
        let left = self.until.map(|until| Moment::now().until(until));
        left.unwrap_or(Duration::MAX)
    }

    fn order(&self, order: &Order) {
        if let Some(orders) = &self.orders {
            // If the holder has gone, its reports end.
            let _ = send(orders, order);
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, signal);
        }
    }

    /// Lets the holder release the lock or leave the queue, and waits for its end.
    async fn leave(&mut self) {
        self.orders = None;
        self.signal(Signal::CONT);
        loop {
            let is_overdue = self.left().is_zero();
            tokio::select! {
                report = self.reports.recv() => match report {
                    Some(report) => self.heed(report),
                    None => break,
                },
                // One that stands still keeps nothing: the lease has ended.
                _ = self.ticks.tick(), if is_overdue => self.signal(Signal::KILL),
            }
        }
        let _ = self.process.wait();
    }

    /// The exit code of a holder that didn't get the lock. It has said why.
    fn exit(&mut self) -> Outcome {
        let status = self.process.wait()?;
        Ok(Exit::Code(of_status(status)))
    }
}

/// The program of this process, also after the file was replaced.
fn this_program() -> io::Result<PathBuf> {
    match cfg!(target_os = "linux") {
        true => Ok(PathBuf::from("/proc/self/exe")),
        false => env::current_exe(),
    }
}

fn of_status(status: ExitStatus) -> u8 {
    match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(1),
        (None, Some(signal)) => by_signal(signal),
        (None, None) => 1,
    }
}
