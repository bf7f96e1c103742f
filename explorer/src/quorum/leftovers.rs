//! Looks for tickets on a node that no member would ever release: they would stay for a whole lease.

use auto_mutex_protocol::{Answer, LIMITS, Op, Ticket};

use super::properties::RELEASED;
use super::world::{Member, NAME, What, World};

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
        let releases = |name: u8, op: &Op| {
            name == NAME
                && matches!(op, Op::Release { ticket: released, .. } if *released == ticket)
        };
        let is_sent = |member: &Member| {
            let link = &member.links[node];
            let refused = link.answers.iter().filter(|sent| sent.0.result.is_err());
            let refused = refused.map(|sent| &sent.0.request);
            let mut requests = link.requests.iter().map(|sent| &sent.0).chain(refused);
            requests.any(|request| releases(request.name, &request.op))
                || (link.late.iter()).any(|((name, op), _)| releases(*name, op))
        };
        let mut events = self.events.values().filter(|event| event.node == node);
        self.members.iter().any(is_sent)
            || events.any(|event| match &event.what {
                What::Failed(Answer { request, .. }) => releases(request.name, &request.op),
                _ => false,
            })
    }
}
