//! Grants that count only when replicas have them: [`Confirming`] stands between the connection and the member.
//!
//! What the store grants anew is kept back until the [`barrier`] has seen it on as many replicas as the configuration asks for. All
//! else passes: renewals of what was confirmed, releases, refusals. A grant that comes as a push makes its member ask, so that
//! there is an answer to keep back.

mod barrier;
mod confirmed;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

pub(super) use self::barrier::Barrier;
use self::confirmed::Confirmed;
use super::driver::first;
use crate::error::{StoreError, StoreErrorKind};
use crate::name::Name;
use crate::store::{Answer, Closing, Events, Message, Node, Op, Reply, Ticket};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::wait::lock;

/// Runs `driver`, which tells its events to what it is given, and the barrier beside it.
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
    // The barrier ends only with what it confirms for.
    first(driver, barrier).await;
}

/// A new grant that is not confirmed yet.
#[derive(Debug)]
struct Fresh {
    answer: Answer,
    ticket: Ticket,
    token: u64,
}

struct Confirming {
    events: Arc<dyn Events>,
    fresh: UnboundedSender<Fresh>,
    /// Grows when the connection comes or goes that the grants come by.
    generation: AtomicU64,
    confirmed: Mutex<Confirmed>,
}

impl Confirming {
    fn new(events: Arc<dyn Events>) -> (Self, UnboundedReceiver<Fresh>) {
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

    /// So many replicas have the grant.
    fn decide(&self, fresh: Fresh, wanted: u32, reached: u32) {
        let Fresh {
            mut answer,
            ticket,
            token,
        } = fresh;
        if reached >= wanted {
            lock(&self.confirmed).note(ticket, token);
        } else {
            let text = format!("{reached} of {wanted} replicas have the grant");
            let kind = StoreErrorKind::Unreplicated { wanted, reached };
            answer.result = Err(StoreError::new(kind, text));
        }
        self.events.answered(answer);
    }
}

impl Events for Confirming {
    fn answered(&self, answer: Answer) {
        match (&answer.request.op, &answer.result) {
            (
                &(Op::Acquire { ticket, .. } | Op::Touch { ticket, .. } | Op::Adopt { ticket, .. }),
                &Ok(Reply::Granted { token, .. }),
            ) if !lock(&self.confirmed).knows(ticket, token) => {
                let fresh = Fresh {
                    answer,
                    ticket,
                    token,
                };
                if let Err(unsent) = self.fresh.send(fresh) {
                    // The barrier has ended, and the driver ends with it.
                    self.decide(unsent.0, 1, 0);
                }
                return;
            }
            (Op::Release { ticket, .. }, _) => {
                lock(&self.confirmed).forget(*ticket);
            }
            _ => {}
        }
        self.events.answered(answer);
    }

    fn told(&self, name: &Name, message: Message) {
        let message = match message {
            // Valid for no time, so that its member asks.
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

    fn connected(&self, node: Node, generation: u64) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.events.connected(node, generation);
    }

    fn disconnected(&self, node: Node, error: StoreError) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.events.disconnected(node, error);
    }

    fn closed(&self, node: Node, closing: Option<Closing>) {
        self.events.closed(node, closing);
    }

    fn still_disconnected(&self, node: Node, error: StoreError) {
        self.events.still_disconnected(node, error);
    }
}
