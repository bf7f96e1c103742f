//! [`ByHand`]: a World in which nothing arrives, no timer runs and no time passes but by steps of the test. Its
//! clients, with their queues and guards, are those that ship. There is no runtime. Each client has a clock of its own.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use auto_mutex_explorer::name::world::thin_out;
use auto_mutex_protocol::client::{self, ClientTimes};

use super::super::super::World;
use super::super::super::member::Member;
use super::super::super::register::Register;
use super::super::super::server::EPOCH_US;
use crate::base::clock::{Instant, by_hand};
use crate::base::name::Name;
use crate::base::wait::lock;
use crate::locks::handle::{Holding, log_obtained};
use crate::queue::{Acquire, ClientCore, Requester};
use crate::store::id::draw_by;
use crate::store::{
    Cause, Closed, Events, Limits, MemberId, NameRecord, Node, NodeChange, Op, Reply, State,
    Ticket, deliver, seal,
};

/// Has no calls of its own.
const OUTSIDER: MemberId = MemberId::from_bytes([0xff; 16]);

pub(super) struct ByHand {
    pub(super) world: World,
    pub(super) name: Name,
    pub(super) hosts: Vec<Host>,
    /// The store's time, before its clock was stepped.
    pub(super) now: Instant,
    /// The resource that the lock protects, if only one call may use it.
    pub(super) register: Option<Register<()>>,
    replica: State,
}

/// A client, and its callers.
pub(super) struct Host {
    pub(super) member: Arc<Member>,
    pub(super) core: Arc<ClientCore>,
    pub(super) now: Instant,
    /// The calls that wait, each with its number.
    pub(super) waits: Vec<(u64, Acquire)>,
    /// The calls that are inside.
    pub(super) guards: Vec<(u64, Holding)>,
    /// The units of calls that have ended, and until when the store keeps them.
    parked: Vec<(u32, Instant)>,
    calls: u64,
    tickets: Rc<Cell<u32>>,
}

impl ByHand {
    pub(super) fn new(hosts: u8, now: Instant, limits: &Limits, times: ClientTimes) -> Self {
        let limits: &'static Limits = Box::leak(Box::new(limits.clone()));
        let world = World::with_seed(0);
        // Instead of the World's clock.
        by_hand::set(now);
        let mut server = lock(&world.0.server);
        server.limits = Some(limits);
        server.step_clock(-(EPOCH_US as i64));
        drop(server);
        let host = |me: u8| {
            let id = MemberId::from_bytes([me; 16]);
            let mut settings = world
                .config(&format!("{me}"))
                .validate()
                .expect("no options");
            (settings.limits, settings.slow) = (limits, None);
            let member = Member::new(
                Arc::downgrade(&world.0),
                &format!("{me}"),
                id,
                settings.options,
            );
            let mut core = ClientCore::new(settings, member.clone(), id);
            Arc::get_mut(&mut core).expect("nobody else has it").times = times;
            member.begin(&core);
            Host {
                member,
                core,
                now,
                waits: Vec::new(),
                guards: Vec::new(),
                parked: Vec::new(),
                calls: 0,
                tickets: Rc::default(),
            }
        };
        Self {
            hosts: (0..hosts).map(host).collect(),
            world,
            name: Name::from_escaped("x"),
            now,
            register: None,
            replica: State::default(),
        }
    }

    /// From now on, this host's code runs.
    fn host(&mut self, me: u8) -> &mut Host {
        let host = &mut self.hosts[usize::from(me)];
        by_hand::set(host.now);
        let tickets = host.tickets.clone();
        draw_by(move || {
            tickets.set(tickets.get() + 1);
            let mut bytes = [0; 16];
            bytes[0] = me;
            bytes[4..8].copy_from_slice(&tickets.get().to_be_bytes());
            bytes[15] = 1;
            bytes
        });
        host
    }

    /// Lets the callers see what has become of their calls. A caller whose hold has ended drops its guard.
    pub(super) fn look(&mut self) {
        for me in 0..self.hosts.len() as u8 {
            let register = self.register.take();
            let taken = lock(&self.world.0.record).taken.clone();
            let host = self.host(me);
            let mut cx = Context::from_waker(Waker::noop());
            let mut index = 0;
            while index < host.waits.len() {
                let Poll::Ready(ended) = Pin::new(&mut host.waits[index].1).poll(&mut cx) else {
                    index += 1;
                    continue;
                };
                let (call, _) = host.waits.remove(index);
                let Ok(hold) = ended else {
                    continue;
                };
                log_obtained(&hold);
                if host
                    .guards
                    .iter()
                    .any(|(_, guard)| Arc::ptr_eq(guard.first(), &hold))
                {
                    // A call of its owner goes in and out.
                    drop(Holding::new(hold));
                    continue;
                }
                if let Some(register) = &register
                    && !taken.contains(&hold.grant.ticket)
                {
                    let written = register.write(hold.grant.token, ());
                    written.expect("the fencing tokens of calls grow");
                }
                host.guards.push((call, Holding::new(hold)));
            }
            host.guards.retain(|(_, guard)| {
                let hold = guard.first();
                !hold.is_released() && hold.lost_for().is_none()
            });
            self.register = register;
        }
        let taken = lock(&self.world.0.record).taken.clone();
        self.note_overlap(&taken);
    }

    /// By their own clocks, the callers have more than there is.
    fn note_overlap(&self, taken: &[Ticket]) {
        let (mut units, mut capacity, mut hosts) = (0, u32::MAX, Vec::new());
        for host in &self.hosts {
            let parked = host.parked.iter().filter(|parked| host.now < parked.1);
            units += parked.map(|parked| parked.0).sum::<u32>();
            for hold in host.guards.iter().map(|(_, guard)| guard.first()) {
                if host.now < hold.deadline() && !taken.contains(&hold.grant.ticket) {
                    units += hold.weight();
                    capacity = hold.want().share.capacity;
                    hosts.push(&*host.member.host);
                }
            }
        }
        if units > capacity.max(1) {
            let overlap = format!("{}: {}", self.name, hosts.join(" and "));
            lock(&self.world.0.record).overlaps.push(overlap);
        }
    }

    /// Checks that the server has what callers hold by their own clocks, unless it is closed.
    pub(super) fn assert_backed(&self) {
        let record = self.record();
        let taken = lock(&self.world.0.record).taken.clone();
        let server = lock(&self.world.0.server);
        if server.micros(self.now) < server.grants_from {
            return;
        }
        for host in &self.hosts {
            let guards = host.guards.iter().map(|(_, guard)| guard.first());
            let holds = guards.filter(|hold| host.now < hold.deadline());
            for ticket in holds.map(|hold| hold.grant.ticket) {
                let mut holders = record.holders.iter();
                let has = holders.any(|holder| holder.ticket == ticket && !holder.parked);
                let name = &host.member.host;
                assert!(
                    has || taken.contains(&ticket),
                    "{name} relies on a lock that the server has not"
                );
            }
        }
    }

    /// A call asks for the lock. A call of an owner that holds it goes in and out.
    pub(super) fn enter(&mut self, me: u8, want: &client::Want) {
        let (name, host) = (self.name.clone(), self.host(me));
        host.calls += 1;
        let joins = host.guards.iter().any(|(_, guard)| {
            let hold = guard.first();
            host.now < hold.deadline() && hold.want().owner.is_some()
        });
        let entered = Acquire::enter(&host.core, &name, want, somebody()).expect("an open client");
        if joins {
            let joined = entered.blocking().expect("the hold of its owner");
            drop(Holding::new(joined));
        } else {
            host.waits.push((host.calls, entered));
        }
    }

    pub(super) fn adopt(&mut self, me: u8, old: Ticket, want: &client::Want) {
        let (name, host) = (self.name.clone(), self.host(me));
        host.calls += 1;
        let adopted = host
            .core
            .with_queue(&name, |queue| queue.adopt(old, want, &somebody()));
        host.waits
            .push((host.calls, adopted.expect("an open client")));
    }

    /// A call that waits gives up.
    pub(super) fn leave(&mut self, me: u8, call: u64) {
        self.host(me).waits.retain(|waits| waits.0 != call);
    }

    fn guard(&mut self, me: u8, call: u64) -> Holding {
        let guards = &mut self.host(me).guards;
        let index = guards.iter().position(|guard| guard.0 == call);
        guards.remove(index.expect("a call that is inside")).1
    }

    /// A call that is inside ends.
    pub(super) fn release(&mut self, me: u8, call: u64) {
        let guard = self.guard(me, call);
        let (hold, host) = (guard.first(), &mut self.hosts[usize::from(me)]);
        if host.now < hold.deadline() {
            host.parked
                .push((hold.weight(), host.now.after(hold.park(host.now))));
        }
        drop(guard);
    }

    /// A call leaves its hold to another client. Returns the ticket.
    pub(super) fn export(&mut self, me: u8, call: u64) -> Ticket {
        let guard = self.guard(me, call);
        guard.first().export();
        guard.first().grant.ticket
    }

    /// The timers of a client run.
    pub(super) fn due(&mut self, me: u8) {
        self.host(me).core.tick();
    }

    /// A client keeps the lock no longer.
    pub(super) fn release_kept(&mut self, me: u8) {
        let name = self.name.clone();
        self.host(me).core.release_kept(&name);
    }

    /// The server executes the oldest request.
    pub(super) fn execute(&mut self, me: u8) {
        let host = self.host(me);
        let closed = host
            .core
            .links
            .read(|servers| servers.longest_closed(host.now));
        let doubts = closed
            .and_then(|closed| closed.left(host.now))
            .unwrap_or_default();
        let (id, dead) = (host.member.id, host.member.is_dead());
        let sent = lock(&host.member.connection).link.requests.pop_front();
        let (request, _) = sent.expect("a request");
        let result = Ok(self.run(id, doubts, &request.op));
        if !dead {
            let mut connection = lock(&self.hosts[usize::from(me)].member.connection);
            let answer = crate::store::Answer { request, result };
            connection.link.answers.push_back((answer, self.now));
        }
    }

    /// The server executes a copy of a request whose connection broke.
    pub(super) fn late(&mut self, me: u8, index: u8) {
        let member = &self.hosts[usize::from(me)].member;
        let ((_, op), _) = lock(&member.connection).link.late.remove(index.into());
        let id = member.id;
        self.run(id, Duration::ZERO, &op);
    }

    /// An operator asks the server for something.
    pub(super) fn operate(&mut self, op: &Op) {
        self.run(OUTSIDER, Duration::ZERO, op);
    }

    fn run(&mut self, member: MemberId, doubts: Duration, op: &Op) -> Reply {
        by_hand::set(self.now);
        let of = |id| self.hosts.iter().find(|host| host.member.id == id);
        let connected = |host: &Host| lock(&host.member.connection).link.connected;
        let hears = |id| of(id).is_some_and(connected);
        let mut server = lock(&self.world.0.server);
        let (reply, messages) = server.execute(member, &self.name, op, doubts, hears);
        for (to, message) in messages {
            if let Some(host) = of(to).filter(|host| !host.member.is_dead()) {
                let link = &mut lock(&host.member.connection).link;
                link.tell(seal(&self.name, &message), self.now);
                thin_out(&mut link.messages, u8::MAX);
            }
        }
        reply
    }

    /// The holders lose the lock, those with this token or all.
    pub(super) fn take_away(&mut self, token: Option<u64>) {
        let holders = self.record().holders.into_iter();
        let taken = holders.filter(|holder| token.is_none_or(|token| holder.token == token));
        lock(&self.world.0.record)
            .taken
            .extend(taken.map(|holder| holder.ticket));
        self.operate(&match token {
            Some(token) => Op::Kick {
                token,
                by: "".into(),
            },
            None => Op::Force,
        });
    }

    /// What the server says about the name.
    pub(super) fn record(&self) -> NameRecord {
        by_hand::set(self.now);
        let records = lock(&self.world.0.server).records().into_iter();
        records.map(|record| record.1).next().unwrap_or_default()
    }

    /// The oldest answer arrives.
    pub(super) fn answer(&mut self, me: u8) {
        let host = self.host(me);
        let sent = lock(&host.member.connection).link.answers.pop_front();
        host.core.answered(sent.expect("an answer").0);
    }

    /// A message arrives, perhaps for the first of two times, or is lost.
    pub(super) fn message(&mut self, me: u8, index: u8, (arrives, is_over): (bool, bool)) {
        let host = self.host(me);
        let mut connection = lock(&host.member.connection);
        let messages = &mut connection.link.messages;
        let (text, _) = messages[usize::from(index)].clone();
        if is_over {
            messages.remove(index.into());
        }
        drop(connection);
        if arrives {
            deliver(&*host.core, &text);
        }
    }

    /// The connection breaks. Copies of what is on its way to the server may arrive for some time.
    pub(super) fn disconnect(&mut self, me: u8, late: Duration) {
        let until = self.now.after(late);
        let late = move |_| (!late.is_zero()).then_some(until);
        let host = self.host(me);
        match host.member.is_dead() {
            true => drop(lock(&host.member.connection).link.break_off(late)),
            false => host.member.break_off(&*host.core, late),
        }
    }

    pub(super) fn connect(&mut self, me: u8) {
        lock(&self.host(me).member.connection).link.connected = true;
        self.doubt(me, Duration::ZERO);
        let connected = NodeChange::Connected { again: true };
        self.host(me).core.node_changed(Node::ONLY, connected);
    }

    /// A client learns that the server grants nothing, and believes it for `longer` than it is so.
    pub(super) fn doubt(&mut self, me: u8, longer: Duration) {
        let server = lock(&self.world.0.server);
        let closed = server.grants_from.saturating_sub(server.micros(self.now));
        drop(server);
        let host = self.host(me);
        let known = host
            .core
            .links
            .read(|servers| servers.longest_closed(host.now));
        let until = host.now.after(Duration::from_micros(closed) + longer);
        let closed = Closed {
            until: known.map_or(until, |known| known.until.max(until)),
            cause: Cause::Restart,
        };
        if host.now < closed.until {
            host.core
                .node_changed(Node::ONLY, NodeChange::Closed(Some(closed)));
        }
    }

    /// A client dies. The server has not noticed it yet.
    pub(super) fn crash(&mut self, me: u8) {
        let host = self.host(me);
        host.member.kill();
        host.waits.clear();
        host.guards.clear();
        let link = &mut lock(&host.member.connection).link;
        link.answers.clear();
        link.messages.clear();
    }

    /// Time passes, as much as this for each client.
    pub(super) fn pass(&mut self, time: Duration, of: impl Fn(u8) -> Duration) {
        self.now = self.now.after(time);
        for (me, host) in (0..).zip(&mut self.hosts) {
            host.now = host.now.after(of(me));
            lock(&host.member.connection)
                .link
                .late
                .retain(|late| late.1 > self.now);
        }
    }

    pub(super) fn step_clock_back(&mut self, time: Duration) {
        lock(&self.world.0.server).step_clock(-(time.as_micros() as i64));
    }

    /// The replica copies what the server has.
    pub(super) fn replicate(&mut self) {
        self.replica = self.state();
    }

    /// What the server has of the name.
    pub(super) fn state(&self) -> State {
        let server = lock(&self.world.0.server);
        server.names.get(&self.name).cloned().unwrap_or_default()
    }

    /// Everything in flight is lost, and so is what the server had, or what a replica has not copied. Nothing is
    /// granted during the pause.
    pub(super) fn restart(&mut self, fails_over: bool, pause: Duration) {
        by_hand::set(self.now);
        let mut server = lock(&self.world.0.server);
        server.restart_empty(Some(pause));
        let replica = std::mem::take(&mut self.replica);
        if fails_over {
            server.names.insert(self.name.clone(), replica);
        } else {
            self.replica = replica;
        }
        drop(server);
        for me in 0..self.hosts.len() as u8 {
            self.disconnect(me, Duration::ZERO);
            lock(&self.hosts[usize::from(me)].member.connection)
                .link
                .late
                .clear();
        }
    }
}

fn somebody() -> Requester {
    Requester {
        label: "by_hand",
        ..Requester::default()
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        for me in 0..self.hosts.len() as u8 {
            let host = self.host(me);
            host.member.kill();
            host.waits.clear();
            host.guards.clear();
            host.core.abandon();
        }
    }
}
