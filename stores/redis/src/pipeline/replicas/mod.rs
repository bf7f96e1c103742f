//! [`Confirming`]: withholds a new grant until enough replicas have it. A pushed grant makes the member send a touch.

mod barrier;

use std::future::Future;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    Answer, Events, Instant, LIMITS, Message, Name, Node, NodeChange, Op, Replicas, Reply,
    StoreErrorKind, Ticket, TicketMap, clock, first, lock,
};
use tokio::sync::mpsc::{self, UnboundedSender};

use self::barrier::Barrier;
use crate::pipeline::Pipeline;

pub(super) async fn confirmed<F>(
    pipeline: Arc<Pipeline>,
    replicas: Replicas,
    events: Arc<dyn Events>,
    driver: impl FnOnce(Arc<dyn Events>) -> F,
) where
    F: Future<Output = ()>,
{
    let (fresh, grants) = mpsc::unbounded_channel();
    let confirming = Arc::new(Confirming {
        replicas,
        events,
        fresh,
        generation: AtomicU64::new(0),
        confirmed: Mutex::default(),
    });
    let driver = driver(confirming.clone());
    let barrier = Barrier {
        pipeline,
        confirming: &confirming,
        grants,
        beside: None,
    };
    // The barrier does not end before the filter is dropped, so the driver ends first.
    first(driver, barrier.run()).await;
}

fn granted(answer: &Answer) -> Option<(Ticket, u64)> {
    match (answer.request.op.lease(), &answer.result) {
        (Some(lease), &Ok(Reply::Granted { token, .. })) => Some((lease.ticket, token)),
        _ => None,
    }
}

struct Confirming {
    replicas: Replicas,
    events: Arc<dyn Events>,
    fresh: UnboundedSender<Answer>,
    generation: AtomicU64,
    confirmed: Mutex<Confirmed>,
}

impl Confirming {
    fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    fn decide(&self, mut answer: Answer, reached: u32) {
        let wanted = self.replicas.count;
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
            lock(&self.confirmed).grants.remove(&ticket);
        }
        let fresh = granted(&answer)
            .is_some_and(|(ticket, token)| !lock(&self.confirmed).knows(ticket, token));
        if !fresh {
            self.events.answered(answer);
        } else if let Err(unsent) = self.fresh.send(answer) {
            // The barrier has ended, and the driver is about to.
            self.decide(unsent.0, 0);
        }
    }

    fn ticket(&self, name: &Name, public: u64) -> Option<Ticket> {
        self.events.ticket(name, public)
    }

    fn told(&self, name: &Name, mut message: Message) {
        if let Message::Grant { hold, .. } = &mut message {
            // Makes the grant one that has already ended, which the member answers with a touch.
            *hold = Duration::ZERO;
        }
        self.events.told(name, message);
    }

    fn node_changed(&self, node: Node, change: NodeChange) {
        if let NodeChange::Connected { .. } | NodeChange::Disconnected(_) = change {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        self.events.node_changed(node, change);
    }
}

const FEW: usize = 64;

#[derive(Debug, Default)]
struct Confirmed {
    grants: TicketMap<(u64, Instant)>,
    many: usize,
}

impl Confirmed {
    fn note(&mut self, ticket: Ticket, token: u64) {
        let now = clock::now();
        // Drop old grants, because not every grant ends with a release here: another process may adopt its ticket.
        if self.grants.len() >= self.many.max(FEW) {
            self.grants
                .retain(|_, (_, mentioned)| mentioned.until(now) <= LIMITS.longest_lease);
            self.many = self.grants.len() * 2;
        }
        self.grants.insert(ticket, (token, now));
    }

    /// Whether the replicas have this grant. If so, it is remembered for at least another `longest_lease`.
    fn knows(&mut self, ticket: Ticket, token: u64) -> bool {
        match self.grants.get_mut(&ticket) {
            Some((known, mentioned)) if *known == token => {
                *mentioned = clock::now();
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use auto_mutex_seam::store::RandomId;

    use super::*;
    use auto_mutex_seam::testing::by_hand;

    #[test]
    fn grants_are_known_by_their_token_until_they_are_released() {
        let (mut confirmed, ticket) = (Confirmed::default(), Ticket::random());
        confirmed.note(ticket, 1);
        assert!(confirmed.knows(ticket, 1) && !confirmed.knows(ticket, 2));
        confirmed.note(ticket, 2);
        assert!(confirmed.knows(ticket, 2) && !confirmed.knows(ticket, 1));
        confirmed.grants.remove(&ticket);
        assert!(!confirmed.knows(ticket, 2));
    }

    #[test]
    fn what_is_handed_over_is_forgotten_and_what_is_renewed_is_not() {
        let (mut confirmed, held) = (Confirmed::default(), Ticket::random());
        let mut now = Instant::from_nanos(1_000_000_000_000);
        by_hand::set(now);
        confirmed.note(held, 1);
        for _ in 0..1000 {
            now = now.after(Duration::from_secs(1));
            by_hand::set(now);
            confirmed.note(Ticket::random(), 1);
            assert!(confirmed.knows(held, 1));
        }
        assert!(confirmed.grants.len() <= 128, "{}", confirmed.grants.len());
    }
}
