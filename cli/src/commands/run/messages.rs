//! What the runner and the holder tell each other, a line each. An end of input means that the other process has gone.

use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::group::Group;

/// A point of time on the clock that all processes of this machine share, and that counts while the machine sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

impl Moment {
    pub(super) fn now() -> Self {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const CLOCK: ClockId = ClockId::Boottime;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const CLOCK: ClockId = ClockId::Monotonic;
        let now = Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default();
        Self(now.as_nanos().try_into().unwrap_or(u64::MAX))
    }

    pub(super) fn after(self, time: Duration) -> Self {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(nanos))
    }

    /// Zero if `later` is in the past.
    pub(super) fn until(self, later: Self) -> Duration {
        Duration::from_nanos(later.0.saturating_sub(self.0))
    }
}

/// What the holder reports to the runner.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The lock is held. This is its fencing token.
    Granted(u64),
    /// When the command must have ended, unless a later moment is reported before then. The answer to [`Order::Ask`].
    Until(Moment),
    /// A text for the user. The holder doesn't write to the terminal while it holds the lock, because a process in the
    /// background may be stopped for that.
    Say(String),
    /// The lock is lost, or about to be. The holder ends the command.
    Lost,
}

/// What the runner orders from the holder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The command runs in this group.
    Guard(Group),
    /// How long does the lease last? The runner asks, because reports to a stopped one would fill the pipe.
    Ask,
    /// The command has ended: release the lock.
    Release,
}

pub(super) trait Message: Sized {
    fn write(&self) -> String;
    fn read(line: &str) -> Option<Self>;
}

impl Message for Report {
    fn write(&self) -> String {
        match self {
            Self::Granted(token) => format!("granted {token}"),
            Self::Until(moment) => format!("until {}", moment.0),
            Self::Say(text) => format!("say {}", text.replace('\n', " ")),
            Self::Lost => "lost ".to_owned(),
        }
    }

    fn read(line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "granted" => rest.parse().ok().map(Self::Granted),
            "until" => Some(Self::Until(Moment(rest.parse().ok()?))),
            "say" => Some(Self::Say(rest.to_owned())),
            "lost" => Some(Self::Lost),
            _ => None,
        }
    }
}

impl Message for Order {
    fn write(&self) -> String {
        match self {
            Self::Guard(group) => format!("guard {}", group.number()),
            Self::Ask => "ask ".to_owned(),
            Self::Release => "release ".to_owned(),
        }
    }

    fn read(line: &str) -> Option<Self> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "guard" => rest.parse().ok().and_then(Group::new).map(Self::Guard),
            "ask" => Some(Self::Ask),
            "release" => Some(Self::Release),
            _ => None,
        }
    }
}

pub(super) fn send(mut to: impl Write, message: &impl Message) -> io::Result<()> {
    to.write_all((message.write() + "\n").as_bytes())?;
    to.flush()
}

/// The messages that arrive, until the other process has gone. They are read by a thread, since nothing else can wait
/// for a pipe and be dropped.
pub(super) fn receive<M: Message + Send + 'static>(
    from: impl Read + Send + 'static,
) -> UnboundedReceiver<M> {
    let (sender, receiver) = unbounded_channel();
    thread::spawn(move || {
        let lines = BufReader::new(from).lines().map_while(Result::ok);
        for message in lines.filter_map(|line| M::read(&line)) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let group = Group::new(4711).unwrap();
        for order in [Order::Guard(group), Order::Ask, Order::Release] {
            assert_eq!(Order::read(&order.write()), Some(order));
        }
        let reports = [
            Report::Granted(7),
            Report::Until(Moment::now()),
            Report::Say("so it is".to_owned()),
            Report::Lost,
        ];
        for report in reports {
            assert_eq!(Report::read(&report.write()), Some(report));
        }
        let lines = Report::Say("one\ntwo".to_owned()).write();
        assert_eq!(lines, "say one two");
        for wrong in ["guard 1", "guard -7", "guard 0", "guard x", "", "stop "] {
            assert_eq!(Order::read(wrong), None, "{wrong}");
        }
    }
}
