//! [`Input`]: what happens to the state of a name. [`Effect`]: what follows from it.

use alloc::vec::Vec;
use core::time::Duration;

use super::call::{AskId, CallId};
use super::hold::{Ended, Grant};
use crate::{HolderRecord, Instant, LockKind, LossCause, Message, Op, Reply, StoreError, Ticket};

/// What happens to the state of a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<C> {
    /// A call asks for the lock.
    Enter(C),
    /// A call takes over the hold of another client's ticket.
    Adopt {
        /// The call.
        caller: C,
        /// The ticket whose hold it takes over.
        old: Ticket,
    },
    /// A call no longer waits.
    Leave {
        /// The call.
        call: CallId,
        /// Who waits for the answer to the release, if there is one.
        ask: Option<AskId>,
    },
    /// Calls no longer wait: whoever runs the state has failed them.
    Dismiss {
        /// The calls.
        calls: Vec<CallId>,
    },
    /// The holder releases its hold.
    Release {
        /// The hold.
        hold: CallId,
        /// Whether the holder did not use its grant: then a granted signal goes to the next waiter.
        returns: bool,
        /// Who waits for the answer, and for how long.
        ask: Option<(AskId, Duration)>,
    },
    /// The store keeps the hold, so that another client can adopt it.
    Export {
        /// The hold.
        hold: CallId,
    },
    /// Renews the lease now.
    Renew {
        /// The hold.
        hold: CallId,
        /// Who waits for the answer, if anybody does.
        ask: Option<AskId>,
        /// The units that the holder keeps from now on.
        units: Option<u32>,
    },
    /// The guards of a hold have changed it without the state: it was found to be over, or its `expire` begins again.
    Seen {
        /// The hold.
        hold: CallId,
        /// Why it was found to be lost, if it was.
        lost: Option<LossCause>,
        /// When its `expire` ends.
        expires: Instant,
        /// Until when the store keeps it, even after a release.
        parked_until: Instant,
    },
    /// Somebody asks the store something about the name.
    Ask {
        /// Who waits for the answer.
        ask: AskId,
        /// The question.
        op: Op,
    },
    /// The store has answered.
    Answered {
        /// The number of the question, if it is one.
        ask: AskId,
        /// What was asked.
        op: Op,
        /// The answer.
        result: Result<Reply, StoreError>,
    },
    /// The store tells something about a ticket.
    Told(Message),
    /// The connection to the server of the name is there again.
    Reconnected,
    /// The server of the name has lost its data.
    Forgotten,
    /// The timer that was set for `armed` runs.
    Due {
        /// When it should have run.
        armed: Instant,
    },
    /// The lock is not kept any longer.
    ReleaseKept,
    /// The client ends: all holds are released.
    Close(LossCause),
}

/// What follows from an input, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect<C> {
    /// The store is to be asked.
    Send {
        /// The number of the question; zero for what a ticket sends.
        ask: AskId,
        /// What is asked.
        op: Op,
    },
    /// The call has the lock. Its hold has the number of the call.
    Granted {
        /// The call.
        caller: C,
        /// What it got.
        grant: Grant,
        /// Calls of the same owner, which share the hold.
        beside: Vec<C>,
    },
    /// The call fails.
    Failed {
        /// The call.
        caller: C,
        /// Why.
        error: Failure,
    },
    /// The store has queued a call that relies on its place. May be reported again.
    Registered(C),
    /// The lease of a hold is extended, or cut before the store is asked for a shorter one.
    Valid {
        /// The hold.
        hold: CallId,
        /// Until when it is valid.
        valid: Instant,
    },
    /// The hold has ended.
    Ended {
        /// The hold.
        hold: CallId,
        /// How.
        how: Ended,
        /// Whether the holder has asked for it.
        asked: bool,
    },
    /// The answer to a renewal or a release: the units that are free, or `None` if the lock was lost before.
    Confirmed {
        /// Who waits for it.
        ask: AskId,
        /// The answer.
        result: Result<Option<u64>, Failure>,
    },
    /// The answer to a query.
    Replied {
        /// Who waits for it.
        ask: AskId,
        /// The answer.
        result: Result<Reply, Failure>,
    },
    /// For whoever watches: a lease was passed on in this process.
    HandedOn {
        /// The new hold.
        hold: CallId,
    },
    /// The renewal of a hold failed, and is tried again.
    RenewalFailed {
        /// The hold.
        hold: CallId,
        /// Why.
        error: StoreError,
    },
    /// A release failed, and is tried again.
    ReleaseFailed {
        /// Why.
        error: StoreError,
    },
}

/// Why a call, a renewal or a query fails. The texts are made elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The wait was too long.
    Timeout {
        /// How long it was.
        waited: Duration,
        /// Who has the lock.
        holder: Option<HolderRecord>,
    },
    /// There were too many attempts.
    TooManyAttempts {
        /// How many.
        attempts: u32,
        /// Who has the lock.
        holder: Option<HolderRecord>,
    },
    /// The name is in use as another lock.
    Mismatch {
        /// What was asked for.
        expected: (LockKind, u32),
        /// What it is.
        found: (LockKind, u32),
    },
    /// More permits than there are.
    TooManyPermits,
    /// As many calls wait as the call allows.
    Busy {
        /// How many.
        waiting: u64,
    },
    /// The hold is lost.
    Lost {
        /// How long it was held.
        held: Duration,
        /// Why.
        cause: LossCause,
    },
    /// The store does not serve.
    Unavailable(StoreError),
    /// The store refuses; the error depends on why.
    Refused(StoreError),
}
