//! The rules that can be left out, to see what they are for.

/// A rule of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Safeguard {
    /// The store grants no more than there is.
    HolderCheck,
    /// The store grants to the first in the queue, not to who asks just now.
    QueueCheck,
    /// A grant by message counts from the sending of the counter that it names.
    FreshGrant,
    /// A grant by message is believed only for a ticket that its member is waiting for.
    WaitingTicket,
    /// An acquire of a ticket that is known is that ticket again, not another one.
    Idempotence,
    /// A release after which a late copy may come leaves a tombstone.
    Tombstone,
    /// A touch never creates a ticket.
    TouchCreatesNothing,
    /// A grant in a reply is valid from the sending of the request, not from the arrival of the reply.
    SendingTime,
    /// What is granted is shortened by what clocks may run apart.
    Allowance,
    /// A store that came back without all of its data grants nothing until every lease has ended.
    RestartGuard,
    /// A token is greater than the last one of the name.
    LastToken,
    /// A token is not less than the time of the server.
    ServerTime,
    /// A hold whose renewal is answered with another token is over.
    SameToken,
    /// An answer that is older than the grant says nothing about it.
    OlderAnswer,
    /// Who is granted by somebody else's operation holds for a short time, until it claims.
    Claim,
    /// Whoever takes the store for closed does not give back what it was granted and may not claim.
    LeftAlone,
    /// Who waits in silence has its place for a limited time.
    PlaceEnds,
    /// The register refuses a token that is less than the greatest one that it has seen.
    Fence,
}

impl Safeguard {
    /// All of them.
    pub const ALL: [Self; 18] = [
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
        Self::Fence,
    ];
}
