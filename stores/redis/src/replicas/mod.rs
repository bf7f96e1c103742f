//! [`Confirming`]: withholds a new grant until the [`barrier`] has counted enough replicas; everything else passes. A
//! pushed grant makes the member send a touch, whose answer can be withheld.

mod barrier;
mod confirmed;

use std::future::Future;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{
    Answer, Events, GrantBlock, Message, Name, Node, Op, Reply, StoreErrorKind, Ticket, first, lock,
};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

pub(super) use self::barrier::Barrier;
use self::confirmed::Confirmed;

pub(super) async fn confirmed<F>(
    barrier: Barrier,
    events: Arc<dyn Events>,
    driver: impl FnOnce(Arc<dyn Events>) -> F,
) where
    F: Future<Output = ()>,
{
    let (confirming, grants) = Confirming::new(events);
    let confirming = Arc::new(confirming);
    let driver = driver(confirming.clone());
    let barrier = barrier.run(grants, &confirming);
    // The barrier does not end before the filter is dropped, so the driver ends first.
    first(driver, barrier).await;
}

fn granted(answer: &Answer) -> Option<(Ticket, u64)> {
    match (answer.request.op.lease(), &answer.result) {
        (Some(lease), &Ok(Reply::Granted { token, .. })) => Some((lease.ticket, token)),
        _ => None,
    }
}

struct Confirming {
    events: Arc<dyn Events>,
    fresh: UnboundedSender<Answer>,
    /// Grows when the main connection is lost or replaced.
    generation: AtomicU64,
    confirmed: Mutex<Confirmed>,
}

impl Confirming {
    fn new(events: Arc<dyn Events>) -> (Self, UnboundedReceiver<Answer>) {
        let (fresh, grants) = mpsc::unbounded_channel();
        let confirming = Self {
            events,
            fresh,
            generation: AtomicU64::new(0),
            confirmed: Mutex::default(),
        };
        (confirming, grants)
    }

    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The answer becomes an error if fewer than `wanted` replicas have the grant.
    fn decide(&self, mut answer: Answer, wanted: u32, reached: u32) {
        if reached < wanted {
            let text = format!("{reached} of {wanted} replicas have the grant");
            let kind = StoreErrorKind::Unreplicated { wanted, reached };
            answer.result = Err(StoreError::new(kind, text));
        } else if let Some((ticket, token)) = granted(&answer) {
            lock(&self.confirmed).note(ticket, token);
        }
        self.events.answered(answer);
    }
}

impl Events for Confirming {
    fn answered(&self, answer: Answer) {
        if let Op::Release { ticket, .. } = answer.request.op {
            lock(&self.confirmed).forget(ticket);
        }
        let fresh = granted(&answer)
            .is_some_and(|(ticket, token)| !lock(&self.confirmed).knows(ticket, token));
        if !fresh {
            self.events.answered(answer);
        } else if let Err(unsent) = self.fresh.send(answer) {
            // The barrier has ended, and the driver ends with it.
            self.decide(unsent.0, 1, 0);
        }
    }

    fn told(&self, name: &Name, message: Message) {
        let message = match message {
            // A grant with a `hold` of zero has already ended, so the member answers with a touch.
            Message::Grant {
                ticket,
                token,
                counter,
                signal,
                ..
            } => Message::Grant {
                ticket,
                token,
                counter,
                hold: Duration::ZERO,
                signal,
            },
            message => message,
        };
        self.events.told(name, message);
    }

    fn connected(&self, node: Node, again: bool) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.events.connected(node, again);
    }

    fn disconnected(&self, node: Node, error: StoreError) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.events.disconnected(node, error);
    }

    fn closed(&self, node: Node, closing: Option<GrantBlock>) {
        self.events.closed(node, closing);
    }

    fn still_disconnected(&self, node: Node, error: StoreError) {
        self.events.still_disconnected(node, error);
    }
}
