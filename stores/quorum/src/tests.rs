//! One member with stub nodes, whose answers the test controls, for sequences that need exact timing.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::State;
use auto_mutex_core::store::{
    Answer, Cause, Closed, Env, Events, Instant, LIMITS, Lease, MemberId, Message, Mode, Name,
    NameRecord, Node, NodeChange, Op, RandomId, Reply, Request, RequestId, Share, Signal, Store,
    StoreErrorKind, Ticket,
};

use super::machine::Quorum;
use super::nodes::{MOST_PENDING, NOBODY, Nodes};
use super::store::Input;

/// A stub of a node: keeps the submitted requests until the test takes them.
#[derive(Debug, Default)]
pub(super) struct Stub(Mutex<Vec<Request>>);

impl Stub {
    pub(super) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Store for Stub {
    fn submit(&self, request: Request) -> Option<Answer> {
        self.0.lock().unwrap().push(request);
        None
    }

    fn close(&self) {}
}

/// An event that a member receives.
#[derive(Debug)]
pub(super) enum Event {
    Answer(Answer),
    Told(Message),
    /// Whether a majority was reachable before.
    Connected(bool),
    Closed(Option<Closed>),
    Disconnected,
}

/// A member that keeps its events until the test takes them.
#[derive(Debug, Default)]
pub(super) struct Recorder(Mutex<Vec<Event>>);

impl Recorder {
    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn push(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }
}

impl Events for Recorder {
    fn answered(&self, answer: Answer) {
        self.push(Event::Answer(answer));
    }

    fn ticket(&self, _: &Name, _: u64) -> Option<Ticket> {
        None
    }

    fn told(&self, _: &Name, message: Message) {
        self.push(Event::Told(message));
    }

    fn node_changed(&self, _: Node, change: NodeChange) {
        self.push(match change {
            NodeChange::Connected { again } => Event::Connected(again),
            NodeChange::Closed(closed) => Event::Closed(closed),
            _ => Event::Disconnected,
        });
    }
}

/// Makes the quorum of one member, with stub nodes.
pub(super) fn quorum(nodes: usize) -> (Quorum, Vec<Arc<Stub>>, Arc<Recorder>) {
    let stubs: Vec<_> = (0..nodes).map(|_| Arc::new(Stub::default())).collect();
    let connected = |stub: &Arc<Stub>| (stub.clone() as Arc<dyn Store>, true);
    let nodes = Nodes::new(stubs.iter().map(connected).collect());
    let recorder = Arc::new(Recorder::default());
    let mut quorum = Quorum::new(nodes, recorder.clone());
    quorum.nodes.now = Instant::START.after(Duration::from_secs(1000));
    (quorum, stubs, recorder)
}

const LEASE: Duration = Duration::from_millis(1500);

/// How a node handles its requests.
#[derive(Clone, PartialEq)]
enum Way {
    Answers,
    /// The node executes its requests, but its answers are lost with the connection.
    LosesAnswers,
    /// The node keeps its requests: it neither executes nor answers them.
    Freezes,
    /// The network delays the requests, and the connection ends: the requests arrive much later.
    Delays,
    Refuses,
}

struct Rig {
    quorum: Quorum,
    stubs: Vec<Arc<Stub>>,
    names: Vec<std::collections::HashMap<String, State>>,
    ways: Vec<Way>,
    kept: Vec<(usize, Request)>,
    recorder: Arc<Recorder>,
    told: Vec<Event>,
    id: MemberId,
}

impl Rig {
    fn new(nodes: usize) -> Self {
        let (quorum, stubs, recorder) = quorum(nodes);
        Self {
            quorum,
            stubs,
            names: (0..nodes).map(|_| Default::default()).collect(),
            ways: vec![Way::Answers; nodes],
            kept: Vec::new(),
            recorder,
            told: Vec::new(),
            id: MemberId::random(),
        }
    }

    fn execute(&mut self, node: usize, request: &Request) -> Reply {
        let micros = self.quorum.nodes.now.as_nanos() / 1000;
        let state = self.names[node]
            .entry(request.name.to_string())
            .or_default();
        let env = Env {
            now: micros,
            grants_from: 0,
            member: self.id,
            limits: &LIMITS,
            hears: &|_| true,
        };
        state.on(&request.op, &env, &mut Vec::new())
    }

    fn take(&mut self, input: Input) {
        self.quorum.take(input);
        self.quorum.tick();
        loop {
            let sent = self.stubs.iter().enumerate().flat_map(|(node, stub)| {
                stub.take().into_iter().map(move |request| (node, request))
            });
            let sent: Vec<_> = sent.collect();
            if sent.is_empty() {
                break;
            }
            for (node, request) in sent {
                let result = match self.ways[node] {
                    Way::Answers => Ok(self.execute(node, &request)),
                    Way::LosesAnswers => {
                        self.execute(node, &request);
                        Err(StoreError::disconnected("cut"))
                    }
                    Way::Refuses => Err(StoreError::new(StoreErrorKind::Busy, "a script runs")),
                    Way::Delays => {
                        let Request { name, op, id } = &request;
                        let (name, op, id) = (name.clone(), op.clone(), *id);
                        self.kept.push((node, Request { name, op, id }));
                        Err(StoreError::disconnected("cut"))
                    }
                    Way::Freezes => {
                        self.kept.push((node, request));
                        continue;
                    }
                };
                self.quorum
                    .take(Input::Answered(node, Answer { request, result }));
            }
            self.quorum.tick();
        }
        self.told.extend(self.recorder.take());
    }

    /// Submits `op`, and returns the answer if it comes at once.
    fn ask(&mut self, op: Op) -> Option<Result<Reply, StoreError>> {
        self.told.clear();
        let (name, id) = (Name::from_escaped("m"), RequestId(7));
        self.take(Input::Asked(Request { name, op, id }));
        self.answer()
    }

    fn answer(&self) -> Option<Result<Reply, StoreError>> {
        self.told.iter().find_map(|output| match output {
            Event::Answer(answer) => Some(answer.result.clone()),
            _ => None,
        })
    }

    fn pass(&mut self, time: Duration) {
        self.quorum.nodes.now = self.quorum.nodes.now.after(time);
        // The unknown ticket makes the message harmless, but `take` runs the timers that are due.
        self.take(Input::Told(
            0,
            Name::from_escaped("m"),
            Message::Ask {
                ticket: Ticket::random(),
            },
        ));
    }

    fn down(&mut self, node: usize) {
        self.take(Input::Changed(
            node,
            NodeChange::Disconnected(StoreError::disconnected("cut")),
        ));
    }

    fn up(&mut self, node: usize) {
        self.ways[node] = Way::Answers;
        self.take(Input::Changed(node, NodeChange::Connected { again: true }));
    }

    /// Returns the state of the name on `node`.
    fn inspect(&mut self, node: usize) -> NameRecord {
        let micros = self.quorum.nodes.now.as_nanos() / 1000;
        let state = self.names[node].get_mut("m");
        let record = state.map(|state| state.inspect(micros, 0, &LIMITS));
        record.unwrap_or_default()
    }

    /// Returns on how many nodes `ticket` holds or waits.
    fn on(&mut self, ticket: Ticket) -> usize {
        let records = (0..self.names.len()).map(|node| self.inspect(node));
        let has = |record: &NameRecord| {
            let mut all = record.holders.iter().chain(&record.waiters);
            all.any(|found| found.ticket == ticket)
        };
        records.filter(has).count()
    }
}

fn acquire(ticket: Ticket, counter: u64, capacity: u32) -> Op {
    Op::Acquire {
        lease: Lease::of(ticket, counter, LEASE),
        share: match capacity {
            0 => Share::NOTIFICATION,
            1 => Share::MUTEX,
            _ => Share::permits(1, capacity),
        },
        mode: Mode::Queue,
        meta: "t".into(),
    }
}

fn touch(ticket: Ticket, counter: u64) -> Op {
    Op::Touch {
        lease: Lease::of(ticket, counter, LEASE),
        units: 0,
    }
}

fn adopt(old: Ticket, ticket: Ticket, counter: u64) -> Op {
    Op::Adopt {
        old,
        lease: Lease::of(ticket, counter, LEASE),
        meta: "t".into(),
    }
}

fn release(ticket: Ticket, used: u64) -> Op {
    Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: false,
        used,
    }
}

/// Makes the message of a notification from `node`, which has this token there.
fn notification(node: usize, ticket: Ticket, token: u64) -> Input {
    let grant = Message::Grant {
        ticket,
        token,
        hold: LEASE,
        counter: 1,
        signal: Some("s".into()),
    };
    Input::Told(node, Name::from_escaped("m"), grant)
}

fn is_granted(answer: &Option<Result<Reply, StoreError>>) -> bool {
    matches!(answer, Some(Ok(Reply::Granted { .. })))
}

#[test]
fn an_adoption_goes_on_after_an_outage() {
    let mut rig = Rig::new(3);
    let (old, new) = (Ticket::random(), Ticket::random());
    assert!(is_granted(&rig.ask(acquire(old, 1, 1))));
    // Node 0 adopts the lock. Node 1 does too, but its answer is lost. Node 2 is unreachable.
    rig.down(2);
    rig.ways[1] = Way::LosesAnswers;
    let lost = rig.ask(adopt(old, new, 1));
    assert!(
        matches!(&lost, Some(Err(error)) if error.is_disconnected()),
        "{lost:?}"
    );
    rig.up(1);
    rig.up(2);
    let adopted = rig.ask(adopt(old, new, 2));
    assert!(is_granted(&adopted), "{adopted:?}");
    assert_eq!(rig.on(new), 3);
    assert!(matches!(
        rig.ask(release(new, 0)),
        Some(Ok(Reply::Released { .. }))
    ));
    assert_eq!(rig.on(new) + rig.on(old), 0);
}

#[test]
fn a_release_that_a_node_refuses_is_sent_again() {
    let mut rig = Rig::new(3);
    let ticket = Ticket::random();
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    rig.ways[2] = Way::Refuses;
    assert!(matches!(
        rig.ask(release(ticket, 0)),
        Some(Ok(Reply::Released { .. }))
    ));
    rig.pass(Duration::from_millis(300));
    assert_eq!(rig.on(ticket), 1);
    rig.ways[2] = Way::Answers;
    rig.pass(Duration::from_millis(300));
    assert_eq!(rig.on(ticket), 0);
    assert!(!rig.quorum.nodes.all[2].pending.contains_key(&ticket));
}

/// Refused releases are sent again in batches of a hundred.
#[test]
fn all_releases_that_a_node_refuses_are_sent_again() {
    let mut rig = Rig::new(3);
    let tickets: Vec<_> = (0..250).map(|_| Ticket::random()).collect();
    for ticket in &tickets {
        assert!(is_granted(&rig.ask(acquire(*ticket, 1, 300))));
    }
    rig.ways[2] = Way::Refuses;
    for ticket in &tickets {
        rig.ask(release(*ticket, 0));
    }
    rig.ways[2] = Way::Answers;
    for _ in 0..3 {
        rig.pass(Duration::from_millis(300));
    }
    let pending = |ticket: &&Ticket| rig.quorum.nodes.all[2].pending.contains_key(*ticket);
    assert_eq!(tickets.iter().filter(pending).count(), 0);
}

/// A proxy may delay the requests of a broken connection until long after the member has reconnected.
#[test]
fn a_copy_that_arrives_after_the_release_holds_nothing() {
    let mut rig = Rig::new(3);
    let ticket = Ticket::random();
    rig.ways[0] = Way::Delays;
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    rig.down(0);
    rig.up(0);
    for counter in 2..4 {
        rig.ask(touch(ticket, counter));
        rig.pass(Duration::from_millis(100));
    }
    assert_eq!(rig.on(ticket), 3);
    rig.ask(release(ticket, 0));
    assert_eq!(rig.on(ticket), 0);
    let late = std::mem::take(&mut rig.kept);
    assert!(!late.is_empty());
    for (node, request) in late {
        rig.execute(node, &request);
    }
    assert_eq!(rig.on(ticket), 0, "the late copy holds it");
}

#[test]
fn a_release_is_owed_for_as_long_as_a_node_stands_still() {
    let mut rig = Rig::new(3);
    let ticket = Ticket::random();
    rig.ways[2] = Way::Freezes;
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    rig.down(2);
    for (node, request) in std::mem::take(&mut rig.kept) {
        let result = Err(StoreError::disconnected("cut"));
        rig.kept.push((
            node,
            Request {
                name: request.name.clone(),
                op: request.op.clone(),
                id: request.id,
            },
        ));
        rig.take(Input::Answered(node, Answer { request, result }));
    }
    rig.ask(release(ticket, 0));
    rig.pass(Duration::from_secs(60));
    let kept = std::mem::take(&mut rig.kept);
    for (node, request) in kept {
        rig.execute(node, &request);
    }
    assert_eq!(rig.on(ticket), 1);
    rig.up(2);
    assert_eq!(rig.on(ticket), 0);
}

#[test]
fn a_late_gone_says_nothing_about_a_newer_acquire() {
    let mut rig = Rig::new(3);
    let ticket = Ticket::random();
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    let late = Request {
        name: Name::from_escaped("m"),
        op: touch(ticket, 0),
        id: RequestId(0),
    };
    rig.take(Input::Answered(
        2,
        Answer {
            request: late,
            result: Ok(Reply::Gone),
        },
    ));
    rig.ask(release(ticket, 0));
    assert_eq!(rig.on(ticket), 0);
}

#[test]
fn rounds_leave_no_timers() {
    let mut rig = Rig::new(3);
    for _ in 0..100 {
        let ticket = Ticket::random();
        assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
        rig.ask(release(ticket, 0));
        assert!(rig.quorum.timers.len() < 10, "{}", rig.quorum.timers.len());
    }
}

#[test]
fn what_was_handed_over_is_forgotten() {
    let mut rig = Rig::new(3);
    for _ in 0..2000 {
        assert!(is_granted(&rig.ask(acquire(Ticket::random(), 1, 1))));
        // Nothing releases the ticket, whose lease simply ends.
        rig.pass(LEASE * 3);
    }
    assert!(
        rig.quorum.tickets.len() < 200,
        "{}",
        rig.quorum.tickets.len()
    );
}

#[test]
fn nodes_that_are_down_are_not_open() {
    let mut rig = Rig::new(5);
    let until = rig.quorum.nodes.now.after(Duration::from_secs(9));
    let closed = Closed {
        until,
        cause: Cause::Restart,
    };
    let reported = |rig: &Rig| {
        let told = rig.told.iter().rev();
        told.filter_map(|output| match output {
            Event::Closed(closed) => Some(*closed),
            _ => None,
        })
        .next()
        .flatten()
    };
    rig.take(Input::Changed(0, NodeChange::Closed(Some(closed))));
    assert_eq!(reported(&rig), None);
    rig.down(1);
    rig.down(2);
    assert_eq!(reported(&rig), Some(closed));
    rig.up(2);
    assert_eq!(reported(&rig), None);
}

#[test]
fn a_used_notification_counts_as_released_where_it_came_from() {
    let mut rig = Rig::new(3);
    let ticket = Ticket::random();
    assert!(matches!(
        rig.ask(acquire(ticket, 1, 0)),
        Some(Ok(Reply::Queued { .. }))
    ));
    rig.take(notification(1, ticket, 5));
    rig.ways[1] = Way::Freezes;
    assert!(rig.ask(release(ticket, 5)).is_none(), "it has not spoken");
}

#[test]
fn a_place_is_looked_after_when_its_node_is_back() {
    let mut rig = Rig::new(3);
    let (holder, waits) = (Ticket::random(), Ticket::random());
    assert!(is_granted(&rig.ask(acquire(holder, 1, 1))));
    assert!(matches!(
        rig.ask(acquire(waits, 1, 1)),
        Some(Ok(Reply::Queued { .. }))
    ));
    let side = "m:%wake";
    assert!(rig.names[2].contains_key(side), "{:?}", rig.names[2].keys());
    // The node is connected again, but without its data.
    rig.down(2);
    rig.names[2].clear();
    rig.up(2);
    rig.ask(touch(waits, 2));
    assert!(rig.names[2].contains_key(side));
}

/// After the notification, the ticket no longer renews its places on the other nodes. If it kept waiting on a single
/// node, it could miss the next notification.
#[test]
fn a_notification_that_may_not_be_claimed_wakes_for_no_reason() {
    let mut rig = Rig::new(3);
    let ticket = Ticket::random();
    assert!(matches!(
        rig.ask(acquire(ticket, 1, 0)),
        Some(Ok(Reply::Queued { .. }))
    ));
    for (node, token) in [(1, 5), (2, 6)] {
        rig.take(notification(node, ticket, token));
    }
    assert_eq!(rig.on(ticket), 2, "the same one, told twice");
    let answer = rig.ask(touch(ticket, 2));
    assert!(matches!(answer, Some(Ok(Reply::Gone))), "{answer:?}");
    assert_eq!(rig.on(ticket), 0);
}

#[test]
fn a_notification_that_several_nodes_send_wakes_one_waiter() {
    let mut rig = Rig::new(3);
    let (first, second) = (Ticket::random(), Ticket::random());
    for ticket in [first, second] {
        assert!(matches!(
            rig.ask(acquire(ticket, 1, 0)),
            Some(Ok(Reply::Queued { .. }))
        ));
    }
    let (ticket, signal) = (Ticket::random(), Signal::One);
    rig.ask(Op::Signal { ticket, signal });
    for node in 0..3 {
        let token = rig.inspect(node).holders[0].token;
        rig.take(notification(node, first, token));
    }
    for node in 1..3 {
        assert!(rig.inspect(node).holders.is_empty(), "it was used");
    }
}

/// If two waiting tickets kept the grants of their lost rounds, neither could get a majority.
#[test]
fn a_lost_round_gives_back_what_it_got() {
    let mut rig = Rig::new(3);
    let (holder, loser) = (Ticket::random(), Ticket::random());
    rig.ways[0] = Way::Freezes;
    assert!(is_granted(&rig.ask(acquire(holder, 1, 1))));
    rig.ways[0] = Way::Answers;
    assert!(matches!(
        rig.ask(acquire(loser, 1, 1)),
        Some(Ok(Reply::Queued { .. }))
    ));
    assert_eq!(rig.on(loser), 0);
}

/// A release counts once a majority has executed it. The others still know the mutex when a semaphore, which needs all
/// nodes, takes its name.
#[test]
fn a_minority_that_lags_behind_a_release_does_not_disagree_about_the_kind() {
    let (mutex, semaphore) = (Ticket::random(), Ticket::random());
    let wait = Duration::from_millis(300);
    let after_release = |late: &[usize]| {
        let mut rig = Rig::new(5);
        assert!(is_granted(&rig.ask(acquire(mutex, 1, 1))));
        for node in late {
            rig.ways[*node] = Way::Freezes;
        }
        rig.ask(release(mutex, 0));
        rig.ways = vec![Way::Answers; 5];
        rig
    };
    let disagrees = |answer| matches!(answer, Some(Ok(Reply::Mismatch { .. })));

    let mut rig = after_release(&[3, 4]);
    assert!(rig.ask(acquire(semaphore, 1, 5)).is_none());
    assert_eq!(rig.on(semaphore), 0);
    for (node, request) in std::mem::take(&mut rig.kept) {
        rig.execute(node, &request);
    }
    rig.pass(wait);
    assert!(is_granted(&rig.answer()));

    // What stays is reported, and so is at once what a majority knows.
    let mut rig = after_release(&[3, 4]);
    assert!(rig.ask(acquire(semaphore, 1, 5)).is_none());
    rig.pass(LEASE / 4);
    assert!(disagrees(rig.answer()));
    let mut rig = after_release(&[0, 1, 2]);
    assert!(disagrees(rig.ask(acquire(semaphore, 1, 5))));
}

/// Every request is answered, even one that is queued behind another request of its ticket.
#[test]
fn what_was_asked_while_a_wait_ended_is_answered() {
    let mut rig = Rig::new(3);
    let ticket = Ticket::random();
    rig.ways = vec![Way::Freezes; 3];
    assert!(rig.ask(acquire(ticket, 1, 0)).is_none());
    assert!(rig.ask(touch(ticket, 2)).is_none());
    for (node, request) in std::mem::take(&mut rig.kept) {
        let result = Ok(Reply::Refused);
        rig.take(Input::Answered(node, Answer { request, result }));
    }
    let is_answer = |event: &&Event| matches!(event, Event::Answer(_));
    assert_eq!(rig.told.iter().filter(is_answer).count(), 2);
}

#[test]
fn what_is_missing_is_said_as_it_is() {
    let mut rig = Rig::new(5);
    assert_eq!(
        rig.quorum.nodes.unreachable(3).to_string(),
        "fewer than 3 of 5 servers have answered"
    );
    rig.down(4);
    assert_eq!(
        rig.quorum.nodes.unreachable(3).to_string(),
        "fewer than 3 of 5 servers have answered, and 4 can be reached: cut"
    );
    for node in [2, 3] {
        rig.down(node);
    }
    assert_eq!(
        rig.quorum.nodes.unreachable(3).to_string(),
        "2 of 5 servers can be reached, 3 are needed: cut"
    );
}

#[test]
fn releases_that_are_too_many_to_keep_are_counted() {
    let (mut quorum, _, _) = quorum(3);
    let nodes = &mut quorum.nodes;
    nodes.all[0].down = Some(StoreError::disconnected("cut"));
    let name = Name::from_escaped("m");
    for _ in 0..MOST_PENDING + 2 {
        let release = Op::Release {
            ticket: Ticket::random(),
            park: Duration::ZERO,
            tomb: true,
            used: 0,
        };
        nodes.release(0, NOBODY, &name, release);
    }
    assert_eq!(nodes.all[0].dropped, 2);
    nodes.note_up(0);
    assert_eq!(nodes.all[0].dropped, 0);
}
