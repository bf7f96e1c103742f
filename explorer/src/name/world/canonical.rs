//! The canonical form: worlds that behave alike become equal. Times are counted from the present, what is long ago is
//! forgotten, and tokens, places, counters, tickets and calls are numbered in their order. So there are finitely many
//! worlds, although time has no end.

use core::time::Duration;
use std::hash::{DefaultHasher, Hash, Hasher};

use auto_mutex_protocol::client::CallId;
use auto_mutex_protocol::{Instant, MemberId, TOKENS_OF_A_GRANT, Ticket, Visitor};

use super::member::{self, base, member_of, ticket};
use super::{Member, PRESENT, Past, World};
use crate::name::rules::{Setup, TICK, micros};

/// The lowest token if the store's clock is behind the tokens.
const AHEAD: u64 = 2 * PRESENT;

impl World {
    /// Brings the world into its canonical form. Returns the new number of each client.
    pub fn canonical(&mut self, rules: &Setup) -> Vec<u8> {
        let now = self.store.now;
        self.store.state.forget(now);
        if let Some(replica) = &mut self.replica {
            replica.forget(now);
        }
        if self.store.closed_until <= now {
            self.store.closed_until = 0;
        }
        for member in &mut self.members {
            member.forget(rules);
        }
        // Nobody believes anything about a ticket that its client has forgotten.
        let is_known = |ticket: Ticket| {
            self.member_of(ticket)
                .state
                .ticket(ticket.public())
                .is_some()
        };
        if self
            .overheard
            .as_ref()
            .and_then(|it| it.ticket())
            .is_none_or(|it| !is_known(it))
        {
            self.overheard = None;
        }
        let mut names = Names::default();
        self.visit(&mut names);
        names.sort();
        names.number_tokens(self, rules);
        names.line_up(&self.members, rules);
        names.past(&mut self.past);
        let mut rename = Rename {
            names: &names,
            me: 0,
            client_now: Instant::START,
            server_now: now,
            memory: rules.memory,
        };
        self.visit(&mut rename);
        self.store.now = PRESENT;
        for member in &mut self.members {
            member.now = present_of(member.now);
            member.next_ticket = names.tickets_of(member.me).count() as u64;
            member.next_call = names.calls_of(member.me).count() as u64;
            member.me = names.members[usize::from(member.me)];
            // Neither has an order.
            member.link.messages.sort_by_cached_key(fingerprint);
            member.link.late.sort_by_cached_key(fingerprint);
            member.link.late.dedup();
        }
        self.members.sort_by_key(|member| member.me);
        names.members
    }

    fn visit(&mut self, visitor: &mut impl OfMembers) {
        for member in &mut self.members {
            visitor.next(member.me, member.now);
            member.visit(visitor);
        }
        self.store.state.visit(visitor);
        visitor.server_time(&mut self.store.closed_until);
        visitor.token(&mut self.seen);
        if let Some(exported) = &mut self.exported {
            visitor.ticket(exported);
        }
        if let Some(overheard) = &mut self.overheard {
            overheard.visit(visitor);
        }
        if let Some(replica) = &mut self.replica {
            replica.visit(visitor);
        }
    }
}

/// The present of a client whose clock shows `now`: its renewals come at the same times.
fn present_of(now: Instant) -> Instant {
    let rest = now.as_nanos() % TICK.as_nanos() as u64;
    Instant::from_nanos(member::PRESENT.as_nanos() + rest)
}

/// A time of a client whose clock shows `now`, counted from its present. Of what is further away than `memory`, only
/// that is known.
pub(crate) fn counted(at: Instant, now: Instant, memory: Duration) -> Instant {
    if at == Instant::START || at == Instant::NEVER {
        return at;
    }
    let before = at.until(now).min(memory);
    present_of(now).after(now.until(at)).before(before)
}

/// The same for equal values.
pub fn fingerprint(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

trait OfMembers: Visitor {
    /// What comes now is this client's.
    fn next(&mut self, me: u8, now: Instant);
}

/// What there is, and its new names.
#[derive(Default)]
struct Names {
    me: u8,
    /// Each occurrence.
    tokens: Vec<u64>,
    new_tokens: Vec<(u64, u64)>,
    places: Vec<u64>,
    counters: Vec<(Ticket, u64)>,
    tickets: Vec<Ticket>,
    calls: Vec<(u8, CallId)>,
    /// The place that was visited last.
    place: u64,
    /// The places of the clients in the store.
    lines: Vec<(u64, u8)>,
    /// The new number of each client.
    members: Vec<u8>,
}

impl Names {
    fn sort(&mut self) {
        self.places.sort_unstable();
        self.places.dedup();
        self.counters.sort_unstable();
        self.counters.dedup();
        self.calls.sort_unstable();
        self.calls.dedup();
        self.tokens.sort_unstable();
    }

    /// Clients that may do the same are numbered by what they do.
    fn line_up(&mut self, members: &[Member], rules: &Setup) {
        let mut order: Vec<_> = (0..members.len()).collect();
        if rules.is_symmetric() {
            self.lines.sort_unstable();
            order.sort_by_cached_key(|&index| {
                let member = &members[index];
                let first = self.lines.iter().position(|line| line.1 == member.me);
                (first.unwrap_or(usize::MAX), member.looks())
            });
        }
        self.members = vec![0; members.len()];
        for (new, old) in order.into_iter().enumerate() {
            self.members[old] = new as u8;
        }
    }

    /// All tokens are in the past. Unless the store's clock may stand still or is behind, so is the next one's
    /// predecessor.
    fn number_tokens(&mut self, world: &World, rules: &Setup) {
        let (store, last) = (&world.store, world.past.token);
        let token = store.state.token();
        let greatest = self.tokens.iter().rev();
        let alone = greatest.take_while(|it| **it == token).count() == 1;
        if rules.stalls || store.behind {
            self.tokens.push(last);
            self.tokens.sort_unstable();
        } else if world.replica.is_none() && alone {
            // The next token is greater than all others, whatever the last one was.
            self.tokens.pop();
        }
        self.tokens.dedup();
        let (mut from, count) = (PRESENT, self.tokens.len() as u64);
        let ahead = self.tokens.iter().filter(|token| **token >= store.now);
        match (store.behind, rules.stalls) {
            (true, _) => from = AHEAD,
            (false, true) => from -= count - ahead.count() as u64,
            (false, false) => from -= count,
        }
        self.new_tokens = self.tokens.iter().copied().zip(from..).collect();
        if token > 0 && self.new_token(token).is_none() {
            let greatest = self.new_tokens.last().map(|known| known.1);
            self.new_tokens
                .push((token, greatest.unwrap_or(PRESENT - 1)));
            self.new_tokens.sort_unstable();
        }
    }

    fn new_token(&self, token: u64) -> Option<u64> {
        let found = self
            .new_tokens
            .binary_search_by_key(&token, |known| known.0);
        found.ok().map(|index| self.new_tokens[index].1)
    }

    /// What is known of the past: the greatest tokens that still matter.
    fn past(&self, past: &mut Past) {
        let until = |token| {
            self.new_tokens
                .iter()
                .rev()
                .find(move |known| known.0 <= token)
        };
        past.token = until(past.token).map_or(0, |known| known.1);
        let (of, number) = (base(past.entered), past.entered % TOKENS_OF_A_GRANT);
        past.entered = match until(of) {
            Some((known, new)) if *known == of => new * TOKENS_OF_A_GRANT + number,
            Some((_, new)) => (new + 1) * TOKENS_OF_A_GRANT - 1,
            None => 0,
        };
    }

    fn tickets_of(&self, member: u8) -> impl Iterator<Item = &Ticket> {
        let tickets = self.tickets.iter();
        tickets.filter(move |ticket| member_of(**ticket) == member)
    }

    fn calls_of(&self, member: u8) -> impl Iterator<Item = &CallId> {
        let calls = self.calls.iter();
        calls
            .filter(move |call| call.0 == member)
            .map(|call| &call.1)
    }
}

impl OfMembers for Names {
    fn next(&mut self, me: u8, _: Instant) {
        self.me = me;
    }
}

impl Visitor for Names {
    fn instant(&mut self, _: &mut Instant) {}

    fn server_time(&mut self, _: &mut u64) {}

    fn place(&mut self, place: &mut u64) {
        self.place = *place;
        self.places.push(*place);
    }

    fn member(&mut self, member: &mut MemberId) {
        self.lines.push((self.place, Member::number(*member)));
    }

    fn token(&mut self, token: &mut u64) {
        if *token > 0 {
            self.tokens.push(*token);
        }
    }

    fn counter(&mut self, of: Ticket, counter: &mut u64) {
        if *counter > 0 {
            self.counters.push((of, *counter));
        }
    }

    fn ticket(&mut self, ticket: &mut Ticket) {
        if !self.tickets.contains(ticket) {
            self.tickets.push(*ticket);
        }
    }

    fn call(&mut self, call: &mut CallId) {
        self.calls.push((self.me, *call));
    }
}

struct Rename<'a> {
    names: &'a Names,
    me: u8,
    client_now: Instant,
    server_now: u64,
    memory: Duration,
}

impl OfMembers for Rename<'_> {
    fn next(&mut self, me: u8, now: Instant) {
        (self.me, self.client_now) = (me, now);
    }
}

impl Visitor for Rename<'_> {
    fn instant(&mut self, at: &mut Instant) {
        *at = counted(*at, self.client_now, self.memory);
    }

    fn server_time(&mut self, micros_at: &mut u64) {
        if *micros_at > 0 {
            let before = self.server_now.saturating_sub(*micros_at);
            let after = micros_at.saturating_sub(self.server_now);
            *micros_at = PRESENT + after - before.min(micros(self.memory));
        }
    }

    fn place(&mut self, place: &mut u64) {
        if *place > 0 {
            let later = self.names.places.iter().rev();
            *place = PRESENT - later.take_while(|it| *it >= place).count() as u64;
        }
    }

    fn token(&mut self, token: &mut u64) {
        *token = self.names.new_token(*token).unwrap_or(0);
    }

    fn counter(&mut self, of: Ticket, counter: &mut u64) {
        let counters = self.names.counters.iter();
        let mut counters = counters.filter(|known| known.0 == of).map(|known| known.1);
        // Only whether a ticket has asked once or more often makes a difference.
        if let Some(first) = counters.next().filter(|_| *counter > 0) {
            let before = counters.take_while(|known| known <= counter).count();
            *counter = first.min(2) + before as u64;
        }
    }

    fn ticket(&mut self, of: &mut Ticket) {
        let member = member_of(*of);
        let mut tickets = self.names.tickets_of(member);
        let index = tickets.position(|known| known == of).unwrap_or(0);
        let new = self.names.members[usize::from(member)];
        *of = ticket(new, index as u64 + 1);
    }

    fn member(&mut self, member: &mut MemberId) {
        *member = Member::id(self.names.members[usize::from(Member::number(*member))]);
    }

    fn call(&mut self, call: &mut CallId) {
        let before = self.names.calls_of(self.me);
        let before = before.take_while(|known| *known < call).count();
        *call = CallId(before as u64 + 1);
    }
}
