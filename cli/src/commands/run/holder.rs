//! The holder: takes the lock, renews its lease, and ends the command if the lease can't be renewed or the runner has
//! gone. It doesn't start the command.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use auto_mutex::{Client, LockError};
use rustix::process::Signal;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep};

use super::group::Group;
use super::guard::Guard;
use super::messages::{Moment, Order, Report, receive, send};
use super::{LOOK, code, lease};
use crate::args::{Global, Run};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::complain;
use crate::output::words::closed_for;
use crate::signals::{self, Signals};
use crate::store::config;

pub(super) fn run(global: &Global, args: &Run) -> Outcome {
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
    let exit = runtime.block_on(hold(&client, args));
    client.blocking_shutdown();
    exit
}

async fn hold(client: &Client, args: &Run) -> Outcome {
    // Caught, and not acted upon: a supervisor may signal all processes of a service, but the lease must outlast the
    // command. What ends this process is the runner's order or end.
    let _caught = Signals::new(&signals::PASSED_ON)?;
    let mut orders = receive::<Order>(io::stdin());
    let taken = tokio::select! {
        taken = Guard::take(client, args) => taken,
        never = tell_of_closed(client) => match never {},
        // The runner has gone: nobody waits for the lock any more.
        _ = orders.recv() => return Ok(Exit::Done),
    };
    let guard = match taken {
        Ok(guard) => guard,
        Err(error) => return refused(error),
    };
    let limits = Limits::of(args);
    // A grant that was waited for is short until it is first renewed.
    while guard.check().is_ok() && guard.ends_in() <= limits.notice {
        sleep(LOOK.min(limits.margin)).await;
    }
    if let Err(lost) = guard.check() {
        complain(&lost);
        return Ok(Exit::Code(code::LOST));
    }
    limits.report_end(&guard);
    report(&Report::Granted(guard.token()));
    watch(&guard, &mut orders, &limits).await;
    if let Err(error) = guard.release().await
        && !matches!(error, LockError::Lost { .. })
    {
        report(&Report::Say(format!(
            "cannot release the lock, which is free when its lease ends: {error}"
        )));
    }
    Ok(Exit::Done)
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
        LockError::Unavailable { .. } => code::UNAVAILABLE,
        ref error if error.is_transient() => code::UNAVAILABLE,
        error => return Err(error.into()),
    };
    complain(&Failure::from(error));
    Ok(Exit::Code(code))
}

/// Tells the runner. If that has gone, its orders end, which [`watch`] notices.
fn report(report: &Report) {
    let _ = send(io::stdout(), report);
}

/// Keeps the lock until the command has ended. Ends the command if the lock is lost or about to be, and if the runner
/// has gone.
async fn watch(guard: &Guard, orders: &mut UnboundedReceiver<Order>, limits: &Limits) {
    let (start, mut group) = (Instant::now(), None);
    let why = loop {
        // The runner is stopped, and starts no command when it continues: the end that it knows has passed.
        if group.is_none() && start.elapsed() >= limits.lease {
            return;
        }
        if let Some(why) = limits.why_lost(guard) {
            break Some(why);
        }
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Guard(started)) => group = Some(started),
                Some(Order::Ask) => limits.report_end(guard),
                Some(Order::Release) => return,
                None => break None,
            },
            () = guard.lost() => {}
            () = sleep(limits.pause(guard)) => {}
        }
    };
    if let Some(why) = why {
        report(&Report::Say(format!("{why}: the command is ended")));
        report(&Report::Lost);
        // If the command is about to start, its group comes now.
        while group.is_none() {
            match orders.recv().await {
                Some(Order::Guard(started)) => group = Some(started),
                Some(Order::Ask) => {}
                Some(Order::Release) | None => return,
            }
        }
    }
    if let Some(group) = group {
        end(group, guard, limits).await;
    }
}

/// Ends the group by SIGTERM, and by SIGKILL before the lease ends.
async fn end(group: Group, guard: &Guard, limits: &Limits) {
    // After a kick, there is no lease to wait for: only `--grace` is left.
    let is_held = guard.check().is_ok();
    let start = Instant::now();
    group.send(Signal::TERM);
    // A stopped process gets the signal when it continues.
    group.send(Signal::CONT);
    while !group.is_gone()
        && start.elapsed() < limits.grace
        && (!is_held || guard.ends_in() > limits.margin)
    {
        sleep(LOOK.min(limits.margin / 4)).await;
    }
    group.send(Signal::KILL);
    let killed = Instant::now();
    // A stopped runner leaves a zombie in the group.
    while !group.is_gone() && killed.elapsed() < Duration::from_secs(1) && guard.check().is_ok() {
        sleep(LOOK).await;
    }
}

/// How long before the end of the lease the command is ended.
struct Limits {
    grace: Duration,
    /// What is left of the lease at the SIGTERM: `--grace`, as far as a healthy lease always has more left.
    notice: Duration,
    /// What is left of it at the SIGKILL.
    margin: Duration,
    lease: Duration,
}

impl Limits {
    fn of(args: &Run) -> Self {
        // A lease is renewed three times, so two thirds of it are left at the next renewal.
        let lease = lease(args);
        let margin = (lease / 10).min(Duration::from_millis(500));
        Self {
            grace: args.grace,
            notice: args.grace.min(lease / 4) + margin,
            margin,
            lease,
        }
    }

    fn why_lost(&self, guard: &Guard) -> Option<String> {
        if let Err(lost) = guard.check() {
            return Some(lost.to_string());
        }
        (guard.ends_in() <= self.notice).then(|| {
            match guard.expires_in() <= self.notice + self.margin {
                true => "the time of --expire is over".to_owned(),
                false => "the lock store doesn't renew the lease".to_owned(),
            }
        })
    }

    /// Until when [`watch`] may wait for an event.
    fn pause(&self, guard: &Guard) -> Duration {
        let notice = guard.ends_in().saturating_sub(self.notice);
        notice.min(self.lease / 6).min(Duration::from_secs(1))
    }

    /// Tells the runner when to kill the command if this process stands still. As long as it answers, the runner
    /// doesn't, so there is time even for a runner that gets no processor for a while.
    fn report_end(&self, guard: &Guard) {
        let margin = (self.lease / 6).min(Duration::from_secs(1));
        let end = guard.ends_in().saturating_sub(margin);
        report(&Report::Until(Moment::now().after(end)));
    }
}
