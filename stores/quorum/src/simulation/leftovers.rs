//! Checks that each ticket on a node belongs to a member, or that its release is in flight or pending. Otherwise the
//! ticket would stay for a whole lease.

use auto_mutex_core::store::{Answer, LIMITS, Op, Request, Ticket};

use super::world::{Event, World};
use crate::store::Input;

impl World {
    /// Checks the lock on each node.
    pub(super) fn nothing_is_left(&mut self) {
        for node in 0..self.nodes.len() {
            let micros = self.now.as_nanos() / 1000 + self.nodes[node].ahead;
            let Some(state) = self.nodes[node].names.get("m") else {
                continue;
            };
            let record = state.inspect(micros, 0, &LIMITS);
            for found in record.holders.iter().chain(&record.waiters) {
                let ticket = found.ticket;
                let known = self.is_known(node, ticket) || self.is_leaving(node, ticket);
                assert!(known, "left behind on node {node}: {found:?}");
            }
        }
    }

    /// Returns whether a member knows that the ticket may be on the node.
    fn is_known(&self, node: usize, ticket: Ticket) -> bool {
        self.members.iter().any(|member| {
            let state = member.quorum.tickets.get(&ticket);
            state.is_some_and(|state| state.on[node].may_hold())
                || member.quorum.nodes.all[node].pending.contains_key(&ticket)
        })
    }

    /// Returns whether the ticket's release, or the report of its failure, is in flight.
    fn is_leaving(&self, to: usize, ticket: Ticket) -> bool {
        let releases = |request: &Request| {
            matches!(&request.op, Op::Release { ticket: released, .. } if *released == ticket)
                && request.name.to_string() == "m"
        };
        self.events.values().any(|event| match event {
            Event::Request { node, request, .. } => *node == to && releases(request),
            Event::Input {
                input: Input::Answered(node, Answer { request, result }),
                ..
            } => *node == to && result.is_err() && releases(request),
            _ => false,
        })
    }
}
