//! Redirects while other threads submit requests: no request overtakes an earlier one of the same ticket.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use auto_mutex_net::unconnected;
use auto_mutex_seam::StoreError;
use auto_mutex_seam::store::{
    Address, Answer, Driver, Events, Layout, Lease, MemberId, Message, Mode, Name, Node,
    NodeChange, Op, RandomId, Request, RequestId, Share, Store, StoreErrorKind, StoreOptions,
    Ticket, lock,
};

use super::primary::Primary;
use super::redirector::Redirector;
use super::slot::Slot;
use super::slot_map::SlotMap;
use super::store::ClusterStore;
use crate::RedisEndpoint;
use crate::connect::Connector;
use crate::pipeline::Pipeline;

/// The answers, in the order in which they came.
#[derive(Default)]
struct Answers(Mutex<Vec<Request>>);

impl Events for Answers {
    fn answered(&self, answer: Answer) {
        lock(&self.0).push(answer.request);
    }

    fn ticket(&self, _: &Name, _: u64) -> Option<Ticket> {
        None
    }

    fn told(&self, _: &Name, _: Message) {}
    fn node_changed(&self, _: Node, _: NodeChange) {}
}

/// Makes a node without a server, where submitted requests wait in order.
fn node(number: u16) -> (Arc<Primary>, Box<dyn Driver>) {
    let host = "127.0.0.1".to_owned();
    let address = Address::Tcp { host, port: number };
    let options = StoreOptions {
        connect_timeout: Duration::from_secs(60),
        restart_guard: false,
        trust_failover: true,
        longest_lease: Duration::from_secs(1),
        lease: None,
        replicas: None,
        is_voter: false,
    };
    let endpoint = RedisEndpoint::new(Layout::Sharded, vec![address.clone()]);
    let mut connector = Connector::new(endpoint, &options, MemberId::random());
    lock(&connector.guard.keys).keys.clear();
    connector.is_new = false;
    let (store, driver) = unconnected(Pipeline::new(connector));
    let primary = Primary::new(Node(number.into()), address, store);
    primary.set_up(true);
    (Arc::new(primary), driver)
}

fn acquire(name: &Name, ticket: Ticket) -> Request {
    let op = Op::Acquire {
        lease: Lease::of(ticket, 1, Duration::from_secs(1)),
        share: Share::of(1, 1),
        mode: Mode::Queue,
        meta: "host 1 site".into(),
    };
    request(name, op)
}

fn release(name: &Name, ticket: Ticket) -> Request {
    let op = Op::Release {
        ticket,
        park: Duration::ZERO,
        tomb: false,
        used: 0,
    };
    request(name, op)
}

fn request(name: &Name, op: Op) -> Request {
    let (name, id) = (name.clone(), RequestId(0));
    Request { name, op, id }
}

/// The release is sent to the new node directly, and must arrive after the redirected acquire. It has no tombstone, and
/// would not stop a later acquire.
#[tokio::test]
async fn a_request_that_is_sent_on_is_not_overtaken() {
    let ((old, _), (new, driver)) = (node(1), node(2));
    // Enough names for the two threads to meet between any two steps. Each name has its own slot.
    let mut slots = HashSet::new();
    let mut names: Vec<_> = (0..8_000)
        .map(|number| Name::from_escaped(&format!("n{number}")))
        .collect();
    names.retain(|name| slots.insert(Slot::of(name)));
    let mut map = SlotMap::new(vec![old.clone(), new.clone()]);
    for name in &names {
        map.set(Slot::of(name), &old);
    }
    let store = Arc::new(ClusterStore::new(String::new()));
    *lock(&store.map) = Arc::new(map);
    let redirector = Redirector {
        store: store.clone(),
        primary: old.clone(),
        events: Arc::new(Answers::default()),
    };
    let tickets: Vec<_> = names.iter().map(|_| Ticket::random()).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for (name, ticket) in names.iter().zip(&tickets) {
                while store.node(name) != new.node {
                    std::hint::spin_loop();
                }
                assert!(store.submit(release(name, *ticket)).is_none());
            }
        });
        for (name, ticket) in names.iter().zip(&tickets) {
            let moved = format!("{} {}", Slot::of(name).0, new.address);
            redirector.answered(Answer {
                request: acquire(name, *ticket),
                result: Err(StoreError::of_server(
                    StoreErrorKind::Refused,
                    "MOVED",
                    &moved,
                )),
            });
        }
    });
    new.store.close();
    let answers = Arc::new(Answers::default());
    driver.run(answers.clone()).await;
    let answers = lock(&answers.0);
    assert_eq!(answers.len(), 2 * names.len());
    let mut acquired = HashSet::new();
    for request in answers.iter() {
        let ticket = request.op.ticket().unwrap();
        match request.op {
            Op::Release { .. } => assert!(acquired.contains(&ticket), "overtaken"),
            _ => assert!(acquired.insert(ticket)),
        }
    }
}
