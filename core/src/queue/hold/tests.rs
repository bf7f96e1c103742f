//! Unit tests of [`Hold`] and [`Holds`].

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::AtomicUsize;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use super::*;
use crate::base::clock::{self, by_hand};
use crate::base::error::LockKind;
use crate::config::Config;
use crate::lease::ListenerKey;
use crate::queue::tests::wants;
use crate::queue::{ClientCore, Holds};
use crate::store::{MemberId, RandomId, Share, Ticket};
use crate::{attribute, caller};
use auto_mutex_memory::MemoryStore;
use auto_mutex_protocol::client::Via;

const LOST: Ended = Ended::Lost(LossCause::Forced);

fn held() -> Arc<Hold> {
    of(1, 1)
}

fn of(units: u32, capacity: u32) -> Arc<Hold> {
    let settings = Config::new("memory://").unwrap().validate().unwrap();
    let (store, _driver) = MemoryStore::open(None, MemberId::random());
    let member = ClientCore::new(settings, store, MemberId::random());
    let local = LockQueue::new(Name::from_escaped("n:h"), member, false);
    let now = clock::now();
    let grant = Grant {
        ticket: Ticket::random(),
        token: 1,
        valid: now.after(Duration::from_secs(60)),
        whole: false,
        attempts: 1,
        via: Via::Store,
        signal: None,
        behind: None,
    };
    let want = wants(Share {
        kind: LockKind::RwLock,
        ..Share::of(units, capacity)
    });
    Arc::new(Hold::new(
        local,
        Arc::new(Waiter::new(CallId(1), want, Requester::default(), now)),
        grant,
        now,
    ))
}

impl Hold {
    /// How long the store keeps the ticket after a release.
    pub(crate) fn park(&self, now: Instant) -> Duration {
        let until = self.parked_until.load(Ordering::Acquire);
        now.until(Instant::from_nanos(until))
    }
}

/// Each call makes these values and copies the hold once, so they must stay small. The limits are for 64-bit machines.
#[test]
fn what_each_call_makes_stays_small() {
    assert!(size_of::<Hold>() <= 280, "{}", size_of::<Hold>());
    assert!(size_of::<Grant>() <= 128, "{}", size_of::<Grant>());
    assert!(size_of::<Want>() <= 272, "{}", size_of::<Want>());
}

/// In the opposite order, a listener registering between the two steps would neither be woken nor see the loss.
#[test]
fn a_loss_is_marked_before_the_listeners_are_taken() {
    let hold = held();
    let listeners = hold.listeners.hold();
    thread::scope(|scope| {
        scope.spawn(|| hold.ended(LOST, false, &mut DeferredWakes::default()));
        while !hold.is_lost() {
            thread::yield_now();
        }
        drop(listeners);
    });
}

#[test]
fn a_loss_wakes_all_listeners_once() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let hold = held();
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = count.clone().into();
    for _ in 0..2 {
        let cx = Context::from_waker(&waker);
        hold.listeners.register(&cx, ListenerKey::new());
    }
    for _ in 0..2 {
        hold.ended(LOST, false, &mut DeferredWakes::default());
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    }
}

#[test]
fn a_hold_whose_last_guard_is_gone_cannot_be_shared() {
    let hold = held();
    assert!(hold.add_guard());
    assert!(!hold.remove_guard());
    assert!(hold.remove_guard(), "the last one");
    assert!(!hold.add_guard(), "it is on its way back to the store");
}

#[test]
fn who_looks_for_the_end_leaves_no_waker_behind() {
    struct Task;
    impl std::task::Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let hold = held();
    let holds = Holds::from(hold.clone());
    for _ in 0..10 {
        let mut ended = Box::pin(holds.ended());
        // A future may move from one task to another.
        for _ in 0..2 {
            let waker = Waker::from(Arc::new(Task));
            let mut cx = Context::from_waker(&waker);
            assert!(ended.as_mut().poll(&mut cx).is_pending());
        }
        assert_eq!(hold.listeners.count(), 1);
    }
    assert_eq!(hold.listeners.count(), 0);
}

#[test]
fn a_body_leaves_one_waker_whatever_wakers_its_executor_makes() {
    struct Task;
    impl std::task::Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let hold = held();
    let mut bodies = [(); 2].map(|()| {
        let body = std::future::pending::<()>();
        Box::pin(caller::run(hold.clone().into(), body))
    });
    for _ in 0..1000 {
        for body in &mut bodies {
            let waker = Waker::from(Arc::new(Task));
            let mut cx = Context::from_waker(&waker);
            assert!(body.as_mut().poll(&mut cx).is_pending());
        }
    }
    assert_eq!(hold.listeners.count(), 2);
}

#[test]
fn a_body_that_is_done_or_dropped_leaves_no_waker() {
    struct Task;
    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let hold = held();
    let holds = &Holds::from(hold.clone());
    for ends in [true, false] {
        let done = Cell::new(false);
        let body = || {
            poll_fn(|_| match done.get() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
        };
        let mut bodies: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
        for _ in 0..2 {
            let run = caller::run(holds.clone(), body());
            bodies.push(Box::pin(async { drop(run.await) }));
            // Two tasks may use one guard.
            let mut lock = attribute::held(&holds);
            bodies.push(Box::pin(async move {
                drop(attribute::under(&mut lock, pin!(body())).await);
            }));
        }
        let mut poll = |expected: Poll<()>| {
            for body in &mut bodies {
                let waker = Waker::from(Arc::new(Task));
                let polled = body.as_mut().poll(&mut Context::from_waker(&waker));
                assert_eq!(polled, expected);
            }
        };
        poll(Poll::Pending);
        assert_eq!(hold.listeners.count(), 4);
        if ends {
            done.set(true);
            poll(Poll::Ready(()));
        } else {
            bodies.clear();
        }
        assert_eq!(hold.listeners.count(), 0, "ends: {ends}");
    }
}

#[test]
fn what_was_given_back_is_known_and_does_not_come_again() {
    let hold = of(5, 8);
    assert_eq!((hold.units(), hold.weight()), (5, 5));
    hold.keep_units(2);
    assert_eq!((hold.units(), hold.weight()), (2, 2));
    hold.keep_units(4);
    assert_eq!((hold.units(), hold.weight()), (2, 2));
}

#[test]
fn it_is_shared_while_there_are_two_guards() {
    let hold = held();
    assert!(!hold.has_other_guards());
    assert!(hold.add_guard() && hold.has_other_guards());
    assert!(hold.add_guard() && hold.has_other_guards());
    assert!(!hold.remove_guard() && hold.has_other_guards());
    assert!(!hold.remove_guard() && !hold.has_other_guards());
}

#[test]
fn the_store_keeps_it_for_the_longest_that_was_asked_for() {
    let hold = held();
    let now = hold.since;
    let seconds = Duration::from_secs;
    assert_eq!(hold.park(now), Duration::ZERO);
    hold.park_for(Some(seconds(3)), now);
    assert_eq!(hold.park(now), seconds(3));
    hold.park_for(Some(seconds(1)), now);
    assert_eq!(hold.park(now), seconds(3));
    assert_eq!(hold.park(now.after(seconds(2))), seconds(1));
}

#[test]
fn it_belongs_to_one_client() {
    let (one, two) = (held(), held());
    assert_eq!(one.client_id(), one.queue.core.id());
    assert_ne!(one.client_id(), two.client_id());
}

#[test]
fn a_loss_says_for_how_long_it_was_held() {
    by_hand::set(Instant::from_nanos(1_000_000_000_000));
    let hold = held();
    by_hand::set(hold.since.after(Duration::from_secs(7)));
    let error = hold.lost_error();
    assert!(
        matches!(&error, LockError::Lost { name, held, .. } if name == "n:h" && *held == Duration::from_secs(7)),
        "{error:?}"
    );
}

#[test]
fn only_what_is_lost_is_reported_as_lost() {
    let loses = |hold: &Hold| {
        let mut wakes = DeferredWakes::default();
        hold.ended(LOST, false, &mut wakes);
        wakes.reports.len()
    };
    let hold = held();
    assert_eq!(loses(&hold), 1);
    let hold = held();
    hold.ended(Ended::Released, true, &mut DeferredWakes::default());
    assert_eq!(loses(&hold), 0, "it was released");
    assert!(!hold.is_lost());
}

#[test]
fn several_end_when_one_of_them_does() {
    let holds = [held(), held()];
    let several = Holds::from(holds.to_vec());
    let one = Holds::from(holds[0].clone());
    let mut cx = Context::from_waker(Waker::noop());
    let mut both = [several.ended(), one.ended()].map(Box::pin);
    for ended in &mut both {
        assert!(ended.as_mut().poll(&mut cx).is_pending());
    }
    holds[1].ended(Ended::Released, true, &mut DeferredWakes::default());
    let [several, one] = &mut both;
    assert!(several.as_mut().poll(&mut cx).is_ready());
    assert!(one.as_mut().poll(&mut cx).is_pending());
}
