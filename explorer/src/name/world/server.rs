//! What the store says about its server and why it refuses, what a client makes of it, and what the store forgets.

use core::time::Duration;

use auto_mutex_protocol::client::{Call, Failure, Input, News};
use auto_mutex_protocol::{
    Answer, Cause, Closed, Node, NodeChange, Reply, StoreError, StoreErrorKind,
};

use super::member::answered;
use super::{Member, Past, World};
use crate::name::properties::{FORGOTTEN, INFORMED, SWEPT};
use crate::name::rules::Setup;

/// Why the store may refuse a request, and whether that may pass by itself.
const KINDS: [(StoreErrorKind, bool); 8] = [
    (StoreErrorKind::Busy, true),
    (StoreErrorKind::Refused, true),
    (StoreErrorKind::TooLate, true),
    (UNREPLICATED, true),
    (StoreErrorKind::Foreign, false),
    (StoreErrorKind::Forbidden, false),
    (StoreErrorKind::Protocol, false),
    (StoreErrorKind::Unsupported, false),
];
const UNREPLICATED: StoreErrorKind = StoreErrorKind::Unreplicated {
    wanted: 1,
    reached: 0,
};
/// With how many errors, of which the last but one is hostile, and the last is a wrong reply.
pub(super) const ERRORS: u8 = KINDS.len() as u8 + 2;
const NONSENSE: u8 = ERRORS - 1;
/// As much of a server's words is never shown.
const TOO_MUCH: usize = 3000;

/// How many things the store may say about its server while there is no connection.
pub(super) const REPORTS: u8 = 3;

/// What the store answers instead of a reply.
pub(super) fn error_of(number: u8) -> StoreError {
    match KINDS.get(usize::from(number)) {
        Some((kind, _)) => StoreError::from(*kind),
        None => {
            let text = ["\u{1b}[2J", &"x".repeat(TOO_MUCH)].concat();
            StoreError::of_server(StoreErrorKind::Refused, "ERR", &text)
        }
    }
}

/// What the store says.
pub(super) fn report_of(number: u8) -> NodeChange {
    match number {
        0 => NodeChange::StillDisconnected(StoreError::disconnected("still")),
        1 => NodeChange::Gone,
        _ => NodeChange::Forgotten,
    }
}

impl World {
    /// The store answers the oldest request with an error, or with nonsense.
    pub(super) fn refuse(&mut self, me: u8, error: u8, rules: &Setup) {
        let member = &mut self.members[usize::from(me)];
        let (request, _) = member.link.requests.pop_front().expect("a request");
        let result = match error {
            NONSENSE => Ok(Reply::Count(0)),
            _ => Err(error_of(error)),
        };
        member.refused = Some(error);
        self.input(me, answered(Answer { request, result }), rules);
    }

    /// The store says something about its server. It has forgotten its locks only if it was restarted.
    pub(super) fn report(&mut self, me: u8, what: u8, rules: &Setup) {
        let member = &mut self.members[usize::from(me)];
        let report = report_of(what);
        let forgets = report == NodeChange::Forgotten;
        if !forgets || self.left.restarts < rules.mishaps.restarts {
            member.changed(report, &mut self.past, rules);
            self.past
                .note(FORGOTTEN, forgets && member.holders().next().is_some());
        }
    }

    /// As the memory store does it from time to time.
    pub(super) fn sweep(&mut self, rules: &Setup) {
        let before = self.store.record(&rules.limits);
        self.store.state.shrink();
        self.past
            .note(SWEPT, self.store.record(&rules.limits) != before);
        if self.store.now >= self.store.state.kept_until(&rules.limits) {
            self.store.state = Default::default();
        }
    }
}

impl Member {
    /// For how long its server grants nothing, as the server says. What the client knew before may last longer.
    pub(super) fn takes_for_closed(
        &mut self,
        time: Option<Duration>,
        past: &mut Past,
        rules: &Setup,
    ) {
        let closed = time.map(|time| {
            let until = self.now.after(time);
            Closed {
                until: self.closed().map_or(until, |known| known.until.max(until)),
                cause: self.cause(rules),
            }
        });
        self.changed(NodeChange::Closed(closed), past, rules);
    }

    fn cause(&self, rules: &Setup) -> Cause {
        match rules.mishaps.failovers {
            0 => Cause::Restart,
            _ => Cause::Failover,
        }
    }

    /// Its store tells it of its server, which changes what it knows of the name.
    pub(super) fn changed(&mut self, change: NodeChange, past: &mut Past, rules: &Setup) {
        let changed = self.servers.on(Node::ONLY, change.clone(), self.now);
        self.up += changed.connected;
        past.note(INFORMED, !self.is_informed(&change));
        match changed.names {
            None | Some(News::Disconnected) => {}
            Some(News::Reconnected) => self.on(Input::Reconnected, past, rules),
            Some(News::Forgotten) => self.on(Input::Forgotten, past, rules),
        }
    }

    /// Whether it knows about its connection what is true, and what it was told last.
    fn is_informed(&mut self, told: &NodeChange) -> bool {
        let cause = self.servers.outage(Node::ONLY).map(|outage| &outage.1);
        let last = self.servers.last_outage().map(|outage| &outage.1);
        let (is_down, in_use) = (cause.is_some(), self.servers.count() == 1);
        let is_told = match told {
            NodeChange::Disconnected(error) | NodeChange::StillDisconnected(error) => {
                !in_use || (cause, last) == (Some(error), Some(error))
            }
            NodeChange::Closed(None) => !self.servers.any_closed() && self.closed().is_none(),
            NodeChange::Gone => !in_use && !self.servers.any_closed(),
            _ => true,
        };
        is_told
            && is_down == (in_use && !self.link.connected)
            && is_down == self.servers.any_down()
            && self.up == i64::from(in_use && !is_down)
    }

    /// It has ended, and counts no servers any more.
    pub(super) fn knows_no_server(&mut self, past: &mut Past) {
        self.up -= self.servers.all_gone();
        past.note(
            INFORMED,
            self.up != 0 || self.servers.count() > usize::from(!self.link.connected),
        );
    }

    /// Whether the error of a call is what the store has said: in this step, or before.
    pub(super) fn was_said(&self, error: &Failure, call: &Call) -> bool {
        let (Failure::Unavailable(error) | Failure::Refused(error)) = error else {
            return true;
        };
        let text = error.to_string();
        let whole = match error.code() {
            Some(code) => [code, error.details()].join(" "),
            None => error.details().into(),
        };
        let is_printable = text.len() < TOO_MUCH && text.chars().all(|c| !c.is_control());
        let mut kinds = KINDS.iter().filter(|kind| kind.0 == error.kind());
        let passes = kinds.all(|kind| kind.1 == error.is_transient());
        let is_said = match (error.kind(), self.refused) {
            (StoreErrorKind::Disconnected, None) => {
                let cause = self.servers.outage(Node::ONLY).map(|outage| &outage.1);
                cause.is_none_or(|cause| cause == error)
            }
            (StoreErrorKind::NotGrantingYet, None) => self.opens_within(&text),
            // The client says that its grant came late, or that its place is lost.
            (StoreErrorKind::TooLate, None) => true,
            (StoreErrorKind::Refused, None) if call.want.share.notifies() => true,
            (kind, Some(NONSENSE)) => kind == StoreErrorKind::Protocol,
            (_, Some(number)) => *error == error_of(number),
            (_, None) => (0..NONSENSE).any(|number| *error == error_of(number)),
        };
        is_said && passes && is_printable && text == whole
    }

    /// Whether a call can succeed after as many seconds as the text says, and why not before.
    fn opens_within(&self, text: &str) -> bool {
        let seconds = text.split(' ').find_map(|word| word.parse().ok());
        let opens = seconds.map(|seconds| self.now.after(Duration::from_secs(seconds)));
        self.closed().is_some_and(|closed| {
            let says = match closed.cause {
                Cause::Restart => "restarted",
                Cause::Failover => "failed over",
            };
            text.contains(says) && opens.is_some_and(|opens| opens >= closed.until)
        })
    }
}
