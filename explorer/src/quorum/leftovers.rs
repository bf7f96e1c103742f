//! Looks for tickets on a node that no member would ever release: they would stay for a whole lease.

use auto_mutex_protocol::{LIMITS, Op, Request, Ticket};

use super::properties::RELEASED;
use super::world::{NAME, What, World};

impl World {
    pub(super) fn look_for_leftovers(&mut self) {
        for node in 0..self.nodes.len() {
            let micros = self.micros(node);
            let Some(state) = self.nodes[node].names.get(&NAME) else {
                continue;
            };
            let record = state.inspect(micros, 0, &LIMITS);
            for found in record.holders.iter().chain(&record.waiters) {
                let ticket = found.ticket;
                let mut members = self.members.iter();
                let known = members.any(|member| member.quorum.may_be_on(node, ticket))
                    || self.is_leaving(node, ticket);
                self.judge
                    .check(RELEASED, known, || format!("node {node}: {found:?}"));
            }
        }
    }

    /// Whether the ticket's release, or the report of its failure, is in flight.
    fn is_leaving(&self, node: usize, ticket: Ticket) -> bool {
        let releases = |request: &Request<u8>| {
            matches!(request.op, Op::Release { ticket: released, .. } if released == ticket)
                && request.name == NAME
        };
        let mut events = self.events.values().filter(|event| event.node == node);
        events.any(|event| match &event.what {
            What::Request(request, _) => releases(request),
            What::Answer(answer, _) => answer.result.is_err() && releases(&answer.request),
            _ => false,
        })
    }
}
