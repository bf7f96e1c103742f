//! [`Link`]: what is in flight between a client and a store. For tests: the World of the test kit and the explorers
//! have this one network.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem;

use crate::{Answer, Message, Op, Request, Ticket};

/// What is in flight between a client and a store. Requests keep their order, and so do answers. A connection that
/// breaks loses what comes to the client; of what goes to the store, copies may still arrive.
///
/// Names are `N`, messages `M`, and a `T` says what is known of the time when something arrives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Link<N, M, T> {
    /// Whether there is a connection. If the client is dead: whether the store has not noticed it yet.
    pub connected: bool,
    /// To the store, the oldest first.
    pub requests: VecDeque<(Request<N>, T)>,
    /// To the client, the oldest first.
    pub answers: VecDeque<(Answer<N>, T)>,
    /// To the client.
    pub messages: Vec<(M, T)>,
    /// Copies of requests whose connection broke. Nobody waits for an answer.
    pub late: Vec<((N, Op), T)>,
}

/// What arrives.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Sent<N, M> {
    Request(Request<N>),
    Answer(Answer<N>),
    Message(M),
    Late(N, Op),
}

impl<N, M, T> Link<N, M, T> {
    /// Nothing is in flight.
    pub const fn new(connected: bool) -> Self {
        Self {
            connected,
            requests: VecDeque::new(),
            answers: VecDeque::new(),
            messages: Vec::new(),
            late: Vec::new(),
        }
    }

    /// How many requests are not answered yet.
    pub fn unanswered(&self) -> usize {
        self.requests.len() + self.answers.len()
    }

    /// Sends a request to the store. Returns it if there is no connection: it fails at once.
    pub fn send(&mut self, request: Request<N>, at: T) -> Option<Request<N>> {
        if !self.connected {
            return Some(request);
        }
        self.requests.push_back((request, at));
        None
    }

    /// Sends a message to the client, if there is a connection.
    pub fn tell(&mut self, message: M, at: T) {
        if self.connected {
            self.messages.push((message, at));
        }
    }
}

impl<N: Clone, M, T: Copy + Ord> Link<N, M, T> {
    /// Breaks the connection. Returns the requests that get no answer. For each that is still on its way, `late` says
    /// when a copy arrives, if one does.
    pub fn break_off(&mut self, mut late: impl FnMut(T) -> Option<T>) -> Vec<Request<N>> {
        self.connected = false;
        self.messages.clear();
        for (request, at) in &self.requests {
            let copy = || (request.name.clone(), request.op.clone());
            self.late.extend(late(*at).map(|at| (copy(), at)));
        }
        let executed = mem::take(&mut self.answers).into_iter();
        let executed = executed.map(|(answer, _)| answer.request);
        let requests = mem::take(&mut self.requests).into_iter();
        executed.chain(requests.map(|sent| sent.0)).collect()
    }

    /// When the first of each kind arrives: a request, an answer, a message, and a late copy.
    pub fn next(&self) -> [Option<T>; 4] {
        [
            self.requests.front().map(|sent| sent.1),
            self.answers.front().map(|sent| sent.1),
            self.messages.first().map(|sent| sent.1),
            self.late.iter().map(|sent| sent.1).min(),
        ]
    }

    /// Takes the first of a kind, which is its place in [`next`](Self::next).
    pub fn take(&mut self, kind: usize) -> Option<Sent<N, M>> {
        match kind {
            0 => Some(Sent::Request(self.requests.pop_front()?.0)),
            1 => Some(Sent::Answer(self.answers.pop_front()?.0)),
            2 if self.messages.is_empty() => None,
            2 => Some(Sent::Message(self.messages.remove(0).0)),
            _ => {
                let late = self.late.iter().enumerate();
                let (first, _) = late.min_by_key(|(_, sent)| sent.1)?;
                let ((name, op), _) = self.late.remove(first);
                Some(Sent::Late(name, op))
            }
        }
    }
}

impl<N, T> Link<N, Message, T> {
    /// Whether something about the ticket is in flight, or was lost with the connection.
    pub fn is_about(&self, ticket: Ticket) -> bool {
        let of = |op: &Op| op.ticket() == Some(ticket);
        !self.connected
            || self.requests.iter().any(|(request, _)| of(&request.op))
            || (self.answers.iter()).any(|(answer, _)| of(&answer.request.op))
            || (self.messages.iter()).any(|(message, _)| message.ticket() == Some(ticket))
    }
}
