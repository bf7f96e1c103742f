//! [`Confirmed`]: the grants that the replicas have.

use auto_mutex_core::store::{Instant, LONGEST_LEASE, Ticket, TicketMap};

/// How many grants are kept before the first removal of ended ones.
const FEW: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Confirmed {
    grants: TicketMap<Grant>,
    /// How many grants are kept before the next removal of ended ones.
    many: usize,
}

#[derive(Debug)]
struct Grant {
    token: u64,
    mentioned: Instant,
}

impl Confirmed {
    pub(super) fn note(&mut self, ticket: Ticket, token: u64) {
        let mentioned = Instant::now();
        // Old grants must be removed, because not every grant ends with a release here: another process may adopt its ticket.
        if self.grants.len() >= self.many.max(FEW) {
            self.grants
                .retain(|_, grant| grant.mentioned.until(mentioned) <= LONGEST_LEASE);
            self.many = self.grants.len() * 2;
        }
        self.grants.insert(ticket, Grant { token, mentioned });
    }

    /// Whether the replicas have this grant. If they do, the grant is kept for another [`LONGEST_LEASE`] at least.
    pub(super) fn knows(&mut self, ticket: Ticket, token: u64) -> bool {
        let known = self.grants.get_mut(&ticket);
        known
            .filter(|grant| grant.token == token)
            .map(|grant| grant.mentioned = Instant::now())
            .is_some()
    }

    pub(super) fn forget(&mut self, ticket: Ticket) {
        self.grants.remove(&ticket);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use auto_mutex_core::testing::by_hand;

    #[test]
    fn grants_are_known_by_their_token_until_they_are_released() {
        let (mut confirmed, ticket) = (Confirmed::default(), Ticket::random());
        confirmed.note(ticket, 1);
        assert!(confirmed.knows(ticket, 1) && !confirmed.knows(ticket, 2));
        confirmed.note(ticket, 2);
        assert!(confirmed.knows(ticket, 2) && !confirmed.knows(ticket, 1));
        confirmed.forget(ticket);
        assert!(!confirmed.knows(ticket, 2));
    }

    #[test]
    fn what_is_handed_over_is_forgotten_and_what_is_renewed_is_not() {
        let (mut confirmed, held) = (Confirmed::default(), Ticket::random());
        let mut now = Instant::from_nanos(1_000_000_000_000);
        by_hand::set(now);
        confirmed.note(held, 1);
        for _ in 0..1000 {
            now = now.after(Duration::from_secs(1));
            by_hand::set(now);
            confirmed.note(Ticket::random(), 1);
            assert!(confirmed.knows(held, 1));
        }
        assert!(confirmed.grants.len() <= 128, "{}", confirmed.grants.len());
    }
}
