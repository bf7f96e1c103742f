//! The local queue step by step. Each test supplies the store's answers and sets the clock by hand.

/// Like `assert!(matches!(…))`, but shows the value.
macro_rules! assert_is {
    ($value:expr, $expected:pat $(if $also:expr)? $(,)?) => {
        match $value {
            $expected $(if $also)? => {}
            ref other => panic!("{other:?}"),
        }
    };
}

mod answers;
mod asks;
mod attempts;
mod handoff;
mod hints;
mod home;
mod in_memory;
mod late;
mod nested;
mod outage;
mod owners;
mod places;
mod queries;
mod rates;
mod releases;
mod retain;
mod slow;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use super::{Acquire, Patience, Requester, Want};
use crate::base::clock::{Instant, by_hand};
use crate::base::error::{LockError, StoreError};
use crate::base::name::Name;
use crate::base::sync::Mutex;
use crate::base::wait::lock;
use crate::config::Config;
use crate::lease::Tenure;
use crate::queue::{ClientCore, Hold, Holds, LockQueue};
use crate::store::{
    Answer, Events, Lease, MemberId, Message, Node, NodeChange, Op, RandomId, Reply, Request,
    Share, Store, Ticket,
};
use auto_mutex_protocol::StoreErrorKind;

/// Waits without a limit.
pub(crate) fn wants(share: Share) -> Want {
    Want::new(
        share,
        Tenure::default(),
        Patience::Queue(None),
        "h 1 s".into(),
    )
}

pub(crate) fn somebody() -> Requester {
    Requester {
        label: crate::observe::BY_HAND,
        ..Requester::default()
    }
}

/// What a call asks for, and who makes it.
trait Asks {
    fn parts(&self) -> (&Want, Requester);
}

impl Asks for Want {
    fn parts(&self) -> (&Want, Requester) {
        (self, somebody())
    }
}

impl Asks for (Want, Requester) {
    fn parts(&self) -> (&Want, Requester) {
        (&self.0, self.1.clone())
    }
}

impl ClientCore {
    /// The queue with this ticket; `None` if the client does not know the ticket.
    fn queue_of(&self, name: &Name, ticket: Ticket) -> Option<Arc<LockQueue>> {
        let found = self.register.find_ticket(name, Some(ticket.public()))?;
        let known = found.lock().state.ticket(ticket.public());
        known.map(|_| found)
    }
}

const TOKEN: u64 = 1_700_000_000_000_000;
const SECOND: Duration = Duration::from_secs(1);

fn granted() -> Reply {
    Reply::Granted {
        token: TOKEN,
        signal: None,
    }
}

/// The submitted requests, which the test answers.
#[derive(Default)]
struct Wire(Mutex<VecDeque<Request>>);

impl Store for Wire {
    fn close(&self) {}

    fn submit(&self, request: Request) -> Option<Answer> {
        lock(&self.0).push_back(request);
        None
    }
}

struct Rig {
    member: Arc<ClientCore>,
    wire: Arc<Wire>,
    name: Name,
    now: Instant,
}

impl Rig {
    fn new() -> Self {
        Self::patient(30)
    }

    /// Makes a rig whose `store_timeout` is `patience` seconds.
    fn patient(patience: u64) -> Self {
        let config = Config::new("memory://").unwrap();
        Self::with(config.store_timeout(Duration::from_secs(patience)))
    }

    fn with(config: Config) -> Self {
        let now = Instant::from_nanos(1_000_000_000_000);
        by_hand::set(now);
        let wire = Arc::new(Wire::default());
        let member = ClientCore::new(
            config.lease("10s").validate().unwrap(),
            wire.clone(),
            MemberId::random(),
        );
        member.node_changed(Node::ONLY, NodeChange::Connected { again: false });
        Self {
            member,
            wire,
            name: Name::from_escaped("queue:name"),
            now,
        }
    }

    fn changed(&self, change: NodeChange) {
        self.member.node_changed(Node::ONLY, change);
    }

    fn reconnect(&self) {
        self.changed(NodeChange::Connected { again: true });
    }

    fn want() -> Want {
        wants(Share::of(1, 1))
    }

    fn share(share: Share) -> Want {
        Want {
            share,
            ..Self::want()
        }
    }

    fn patience(patience: Patience) -> Want {
        Want {
            patience,
            ..Self::want()
        }
    }

    fn expires(expire: Duration) -> Want {
        let mut want = Self::want();
        want.tenure.expire = Some(expire);
        want
    }

    /// A request of a caller that does not wait.
    fn tries() -> Want {
        Self::patience(Patience::NONE)
    }

    fn enter(&self, asks: &impl Asks) -> Pin<Box<Acquire>> {
        let (want, by) = asks.parts();
        let entered = self.member.enter(&self.name, want, &by);
        Box::pin(entered.unwrap().unwrap())
    }

    /// Returns whether all submitted requests have been taken.
    fn is_silent(&self) -> bool {
        lock(&self.wire.0).is_empty()
    }

    fn next(&self) -> Request {
        lock(&self.wire.0)
            .pop_front()
            .expect("something was submitted")
    }

    /// Takes the next request, which must be an acquire; returns its ticket and counter too.
    #[track_caller]
    fn asked(&self) -> (Request, Ticket, u64) {
        let asked = self.next();
        match asked.op {
            Op::Acquire {
                lease: Lease {
                    ticket, counter, ..
                },
                ..
            } => (asked, ticket, counter),
            _ => panic!("{asked:?}"),
        }
    }

    fn answer(&self, request: Request, reply: Reply) {
        self.member.answered(Answer {
            request,
            result: Ok(reply),
        });
    }

    fn lose(&self, request: Request) {
        self.member.answered(Answer {
            request,
            result: Err(StoreError::disconnected("cut")),
        });
    }

    fn fail(&self, request: Request, kind: StoreErrorKind) {
        let result = Err(StoreError::new(kind, "that"));
        self.member.answered(Answer { request, result });
    }

    fn refuse(&self, request: Request) {
        self.member.answered(Answer {
            request,
            result: Err(StoreError::new(
                StoreErrorKind::Busy,
                "4 of 5 can be reached",
            )),
        });
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.after(time);
        by_hand::set(self.now);
        self.member.tick();
    }

    /// Like [`pass`](Self::pass), but the background thread checks its timers continuously.
    fn run(&mut self, time: Duration) {
        let ends = self.now.after(time);
        while self.now < ends {
            self.pass(self.now.until(ends).min(SECOND / 20));
        }
    }

    /// Takes the lock, which the store grants immediately.
    fn take(&self, asks: &impl Asks) -> Arc<Hold> {
        let mut acquire = self.enter(asks);
        self.answer(self.next(), granted());
        poll(&mut acquire).expect("granted").unwrap()
    }
}

fn poll(acquire: &mut Pin<Box<Acquire>>) -> Option<Result<Arc<Hold>, LockError>> {
    let mut cx = Context::from_waker(Waker::noop());
    match acquire.as_mut().poll(&mut cx) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// A message saying that the store granted `ticket` during another ticket's operation. `counter` is that of the
/// ticket's last request.
fn grant(ticket: Ticket, counter: u64, hold: Duration) -> Message {
    Message::Grant {
        ticket,
        token: TOKEN,
        counter,
        hold,
        signal: None,
    }
}

fn queued() -> Reply {
    Reply::Queued {
        position: 1,
        again: Duration::from_millis(667),
        holder: None,
    }
}

#[test]
fn a_long_block_leaves_no_timers_behind() {
    let mut rig = Rig::new();
    let want = Want {
        patience: Patience::Queue(Some(3600 * SECOND)),
        ..Rig::want()
    };
    for _ in 0..50 {
        let hold = rig.take(&want);
        hold.release(false);
        rig.answer(rig.next(), Reply::Released { free: 1 });
    }
    let waiting = rig.enter(&want);
    for _ in 0..50 {
        rig.answer(rig.next(), queued());
        rig.pass(SECOND);
    }
    assert!(
        lock(&rig.member.timers.entries).len() < 10,
        "{} entries for one name",
        lock(&rig.member.timers.entries).len()
    );
    drop(waiting);
}

#[test]
fn the_next_waiter_is_not_bound_by_the_expire_of_the_one_before() {
    let mut rig = Rig::new();
    let brief = Rig::expires(SECOND / 10);
    let first = rig.enter(&brief);
    let mut second = rig.enter(&Rig::want());
    drop(first);
    // The ticket of the first caller now serves the second caller.
    rig.answer(rig.next(), granted());
    let hold = poll(&mut second).expect("granted").unwrap();
    rig.pass(SECOND / 20);
    let renewal = rig.next();
    assert_is!(renewal.op, Op::Touch { lease: Lease { hold, .. }, .. } if hold == 10 * SECOND);
    rig.answer(renewal, granted());
    rig.pass(SECOND / 10);
    assert!(hold.is_valid());
}

#[test]
fn a_call_that_comes_as_the_client_shuts_down_is_refused() {
    let rig = Rig::new();
    let entered = rig.member.with_queue(&rig.name, |local| {
        // Another thread shuts the client down between the phase check and the transition.
        rig.member.shut_down(Duration::ZERO);
        Some(local.enter(&Rig::want(), &somebody()))
    });
    assert!(matches!(entered, Ok(Some(Err(LockError::ShutDown)))));
    assert!(rig.is_silent(), "nothing is asked for any more");
}

#[test]
fn a_nested_expire_that_is_shorter_is_noticed_in_time() {
    let mut rig = Rig::new();
    let hold = rig.take(&Rig::want());
    hold.restart(Tenure {
        expire: Some(SECOND),
        ..Tenure::default()
    });
    let mut cx = Context::from_waker(Waker::noop());
    let lost = Holds::from(hold.clone()).poll_lost(&mut cx, &mut None);
    assert!(lost.is_pending());
    let told = rig.member.timers.next().unwrap();
    assert!(
        told <= rig.now.after(SECOND),
        "the loss is told at {told:?}, now {:?}",
        rig.now
    );
    rig.pass(SECOND);
    assert!(matches!(rig.next().op, Op::Release { .. }));
}

#[test]
fn what_was_entered_again_restarts_its_own_time_and_no_earlier_end() {
    let mut rig = Rig::new();
    let tenure = |seconds: u32| Tenure {
        expire: Some(seconds * SECOND),
        at_least: Some(SECOND),
        ..Tenure::default()
    };
    let want = Want {
        tenure: tenure(2),
        ..Rig::want()
    };
    let mut waits = rig.enter(&want);
    rig.answer(rig.next(), granted());
    let hold = poll(&mut waits).expect("granted").unwrap();
    rig.pass(SECOND);
    hold.restart(tenure(30));
    assert_eq!(hold.expires_in(rig.now), 30 * SECOND);
    assert_eq!(hold.park(rig.now), SECOND);
    // The lease was cut to two seconds, so the queue asks for a longer one at once.
    assert!(
        matches!(rig.next().op, Op::Touch { lease: Lease { hold, .. }, .. } if hold == 10 * SECOND)
    );
}

#[test]
fn unlock_tells_the_truth_when_the_answer_was_lost() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    let unlocked = hold.unlock();
    // The store executes the release, but the connection breaks before the answer.
    rig.lose(rig.next());
    rig.reconnect();
    rig.answer(rig.next(), Reply::Gone);
    assert!(
        unlocked.blocking_wait().unwrap().is_some(),
        "it was held until the release"
    );
    // If the store doesn't know the ticket at the first release, the hold was lost before.
    let hold = rig.take(&Rig::want());
    let unlocked = hold.unlock();
    rig.answer(rig.next(), Reply::Gone);
    assert!(unlocked.blocking_wait().unwrap().is_none());
}

#[test]
fn unlock_of_what_was_lost_is_false_whatever_the_store_has_left() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    // The local deadline comes before the store's, and the background thread has not noticed it yet.
    by_hand::set(rig.now.after(10 * SECOND - SECOND / 20));
    assert!(hold.is_lost());
    let unlocked = hold.unlock();
    rig.answer(rig.next(), Reply::Released { free: 1 });
    assert!(unlocked.blocking_wait().unwrap().is_none());
}

#[test]
fn a_shutdown_keeps_a_lock_for_its_at_least() {
    let rig = Rig::new();
    let want = Want {
        tenure: Tenure {
            expire: None,
            at_least: Some(60 * SECOND),
            ..Tenure::default()
        },
        ..Rig::want()
    };
    let _hold = rig.take(&want);
    rig.member.shut_down(Duration::ZERO);
    let release = rig.next();
    assert_is!(release.op, Op::Release { park, .. } if park == 60 * SECOND);
}

#[test]
fn a_server_that_refuses_every_new_ticket_is_not_asked_for_ever() {
    for patience in [Patience::Queue(None), Patience::NONE] {
        let rig = Rig::new();
        let mut acquire = rig.enter(&Want {
            patience,
            ..Rig::want()
        });
        let ended = (0..10).find_map(|_| {
            rig.answer(rig.next(), Reply::Refused);
            poll(&mut acquire)
        });
        assert_is!(ended, Some(Err(LockError::Unavailable { .. })));
    }
}

/// A value owned by a task. Only the task's waker keeps it alive, and dropping it releases a hold.
struct Task(Arc<Hold>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.release(false);
    }
}

#[test]
fn a_wait_that_is_given_up_may_end_a_task_that_holds_the_lock() {
    let (sender, done) = mpsc::channel();
    thread::spawn(move || {
        let rig = Rig::new();
        let hold = rig.take(&Rig::want());
        let mut acquire = rig.enter(&Rig::want());
        let waker = Waker::from(Arc::new(Task(hold)));
        let polled = acquire.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
        drop(waker);
        drop(acquire);
        let _ = sender.send(());
    });
    done.recv_timeout(60 * SECOND).unwrap();
}

#[test]
fn a_server_without_its_locks_ends_the_holds() {
    let rig = Rig::new();
    let hold = rig.take(&Rig::want());
    rig.changed(NodeChange::Disconnected(StoreError::disconnected("cut")));
    assert!(hold.is_valid());
    rig.changed(NodeChange::Forgotten);
    assert!(!hold.is_valid());
}

#[test]
fn a_client_that_is_gone_does_not_wait_for_a_server_that_is() {
    let mut rig = Rig::new();
    let hold = rig.take(&Rig::want());
    rig.member.orphan();
    rig.changed(NodeChange::Disconnected(StoreError::disconnected("cut")));
    hold.release(false);
    rig.lose(rig.next());
    rig.pass(SECOND);
    assert!(!rig.member.is_closed(), "the release may still be of use");
    rig.pass(10 * SECOND);
    assert!(rig.member.is_closed(), "the lease has ended it");
}
