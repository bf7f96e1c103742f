//! Renewals: what is held is touched on every node; a node that has lost it is asked to take it again, at the next beat.

use super::enough::needed;
use super::entry::{Entry, Phase, Want};
use super::nodes::Purpose;
use super::round::Call;
use super::state::{Job, Quorum};
use super::votes::{Votes, is_granted};
use crate::store::{Mode, Op, Reply, Request, Share, Ticket};

#[derive(Debug)]
pub(super) struct Renew {
    request: Request,
    ticket: Ticket,
    /// Only of nodes that have held it without a gap.
    pub(super) votes: Votes,
    /// It keeps no more than these.
    units: u32,
}

impl Quorum {
    /// An acquire, an adoption or a touch.
    pub(super) fn ticket_asked(&mut self, request: Request) {
        let Some(ticket) = request.op.ticket() else {
            return;
        };
        let nodes = self.nodes.len();
        match self.tickets.get_mut(&ticket) {
            Some(entry) if entry.job.is_some() => return entry.later.push_back(request),
            Some(entry) => entry.want.update(&request.op),
            None => match Want::of(&request.op) {
                Some(want) => {
                    let entry = Entry::new(request.name.clone(), want, nodes);
                    self.tickets.insert(ticket, entry);
                }
                None => return self.answer(request, Ok(Reply::Gone)),
            },
        }
        let Some(entry) = self.tickets.get(&ticket) else {
            return;
        };
        if entry.want.share.capacity == 0 {
            return self.listen(request, ticket);
        }
        match entry.phase {
            Phase::Held(_) => self.renew(request, ticket),
            // To the first request of a ticket no store says that it is over.
            Phase::Wanting if entry.is_worn() && entry.want.counter > 1 => {
                self.give_up(ticket);
                self.answer(request, Ok(Reply::Refused));
            }
            Phase::Wanting | Phase::Listening | Phase::Notified(..) => {
                let waits = entry.want.mode == Mode::Queue && entry.side.is_none();
                let way = self.gives_way(&request.name).filter(|_| waits);
                let call = Call {
                    request,
                    ticket,
                    since: self.now,
                    rounds: 0,
                };
                match way {
                    Some(way) => self.pause(call, way),
                    None => self.round(call),
                }
            }
        }
    }

    /// What was asked while the last job of `ticket` ran.
    pub(super) fn go_on(&mut self, ticket: Ticket) {
        while let Some(entry) = self.tickets.get_mut(&ticket)
            && entry.job.is_none()
            && let Some(request) = entry.later.pop_front()
        {
            self.ticket_asked(request);
        }
    }

    /// The member has to ask anew, under another ticket.
    fn give_up(&mut self, ticket: Ticket) {
        self.leave_side(ticket, false);
        self.withdraw(ticket);
    }

    fn renew(&mut self, request: Request, ticket: Ticket) {
        let nodes = self.nodes.len();
        let Some(entry) = self.tickets.get_mut(&ticket) else {
            return;
        };
        let units = match request.op {
            Op::Touch { units, .. } => units,
            _ => 0,
        };
        let enough = needed(nodes, &entry.want.share);
        if entry.open() < enough {
            return self.answer(request, Ok(Reply::Gone));
        }
        let number = self.number();
        let mut votes = Votes::new(nodes);
        for node in self.nodes.indices() {
            let Some(entry) = self.tickets.get_mut(&ticket) else {
                return;
            };
            if !self.nodes.is_up(node) {
                continue;
            }
            if entry.at[node].open {
                votes.ask(node);
                let op = entry.touch(ticket, units);
                self.nodes
                    .send(node, Purpose::main(number), &entry.name, op);
            } else if !entry.at[node].tombed {
                // It does not count yet: somebody else may have had it in between.
                self.acquire_at(node, ticket, Purpose::NOBODY);
            }
        }
        let renew = Renew {
            request,
            ticket,
            votes,
            units,
        };
        self.decide_renewal(number, renew);
    }

    pub(super) fn decide_renewal(&mut self, number: u64, renew: Renew) {
        let nodes = self.nodes.len();
        let Some(entry) = self.tickets.get_mut(&renew.ticket) else {
            return self.answer(renew.request, Ok(Reply::Gone));
        };
        let Phase::Held(token) = entry.phase else {
            return self.answer(renew.request, Ok(Reply::Gone));
        };
        let enough = needed(nodes, &entry.want.share);
        let votes = &renew.votes;
        if votes.count(is_granted) >= enough {
            let signal = None;
            let lowered = renew.units > 0 && renew.units < entry.want.share.units;
            if lowered {
                entry.want.share.units = renew.units;
                let name = entry.name.clone();
                self.wake_one(&name);
            }
            return self.answer(renew.request, Ok(Reply::Granted { token, signal }));
        }
        let without = votes.count(|reply| !is_granted(reply));
        if nodes - without < enough {
            entry.phase = Phase::Wanting;
            return self.answer(renew.request, Ok(Reply::Gone));
        }
        if votes.awaited() == 0 {
            let trouble = votes.trouble().cloned();
            let error = trouble.unwrap_or_else(|| self.unreachable(enough));
            return self.answer(renew.request, Err(error));
        }
        self.jobs.insert(number, Job::Renew(renew));
    }
}

impl Want {
    /// What an acquire or an adoption asks for.
    fn of(op: &Op) -> Option<Self> {
        match op {
            Op::Acquire {
                counter,
                share,
                hold,
                place,
                mode,
                meta,
                ..
            } => Some(Self {
                share: share.clone(),
                adopts: None,
                counter: *counter,
                hold: *hold,
                place: *place,
                mode: *mode,
                meta: meta.clone(),
            }),
            Op::Adopt {
                old,
                counter,
                hold,
                place,
                meta,
                ..
            } => Some(Self {
                // Only mutexes are handed over.
                share: Share::of(1, 1),
                adopts: Some(*old),
                counter: *counter,
                hold: *hold,
                place: *place,
                mode: Mode::Try,
                meta: meta.clone(),
            }),
            _ => None,
        }
    }

    /// It is asked for again.
    fn update(&mut self, op: &Op) {
        let (Op::Acquire {
            counter: next,
            hold,
            place,
            ..
        }
        | Op::Adopt {
            counter: next,
            hold,
            place,
            ..
        }
        | Op::Touch {
            counter: next,
            hold,
            place,
            ..
        }) = op
        else {
            return;
        };
        (self.counter, self.hold, self.place) = (*next, *hold, *place);
    }
}
