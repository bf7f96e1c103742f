//! The rules that a run can leave out, to show why each is needed.

/// A rule of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Safeguard {
    /// The store grants no more than the capacity.
    HolderCheck,
    /// The store grants to the first waiter of the queue, not to the ticket that happens to ask.
    QueueCheck,
    /// The validity of a grant by message counts from when the request with the named counter was sent.
    FreshGrant,
    /// A member accepts a grant by message only if the ticket is its own and still waits.
    WaitingTicket,
    /// An acquire of a known ticket does not add a second ticket.
    Idempotence,
    /// A release leaves a tombstone if a late copy of an acquire may arrive after it.
    Tombstone,
    /// A touch never creates a ticket.
    TouchCreatesNothing,
    /// The validity of a grant in a reply counts from when the request was sent, not from when the reply arrived.
    SendingTime,
    /// The validity of a grant is shortened by the possible difference between clocks.
    Allowance,
    /// A store that came back without all of its data grants nothing until every lease has ended.
    RestartGuard,
    /// A token is greater than the last token of the name.
    LastToken,
    /// A token is not less than the time of the server.
    ServerTime,
    /// A hold whose renewal is answered with another token is over.
    SameToken,
    /// A reply to a request from before the grant says nothing about the grant.
    OlderAnswer,
    /// A grant made by another ticket's operation lasts only a short time, until the member claims it.
    Claim,
    /// A touch that may not claim, because its member considers the store closed, does not withdraw the provisional
    /// grant.
    LeftAlone,
    /// A waiter that does not touch its ticket loses its place after some time.
    PlaceEnds,
    /// A member whose lease becomes shorter shortens its own validity before it sends the touch.
    CutFirst,
    /// An answer to a touch from before the lease became shorter does not make the validity longer.
    LateAnswer,
    /// A request of a holder that is older than another one that the store has executed changes nothing.
    OlderRequest,
    /// A member that keeps the lock between calls asks for the short lease.
    ShortLease,
    /// A call enters a lock that its member keeps only while it is valid.
    ValidEntry,
    /// A member that is recalled gives the lock up.
    Recall,
    /// The touches of waiters repeat the recall.
    RecallAgain,
    /// A new token that a touch gets is the last token of the name.
    TouchToken,
    /// A member uses no token after the last one that a touch has got.
    TokenRange,
    /// A new token in the reply to a touch continues a hold only while it is valid.
    NewToken,
    /// The register refuses a token lower than the greatest one it has seen.
    Fence,
}

impl Safeguard {
    /// All rules.
    pub const ALL: [Self; 28] = [
        Self::HolderCheck,
        Self::QueueCheck,
        Self::FreshGrant,
        Self::WaitingTicket,
        Self::Idempotence,
        Self::Tombstone,
        Self::TouchCreatesNothing,
        Self::SendingTime,
        Self::Allowance,
        Self::RestartGuard,
        Self::LastToken,
        Self::ServerTime,
        Self::SameToken,
        Self::OlderAnswer,
        Self::Claim,
        Self::LeftAlone,
        Self::PlaceEnds,
        Self::CutFirst,
        Self::LateAnswer,
        Self::OlderRequest,
        Self::ShortLease,
        Self::ValidEntry,
        Self::Recall,
        Self::RecallAgain,
        Self::TouchToken,
        Self::TokenRange,
        Self::NewToken,
        Self::Fence,
    ];
}
