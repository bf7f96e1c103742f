//! [`Primary`]: a node of the cluster to which this member sends requests.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use auto_mutex_core::StoreError;
use auto_mutex_core::store::{Address, Instant, Node, ServerHealth, Store as _, clock, lock};

use crate::pipeline::Pipeline;

const NEW: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 2;

/// How long a node without slots is kept after the last request for a slot that it was importing.
const KEPT: Duration = Duration::from_secs(60);

pub(super) struct Primary {
    /// Never reused.
    pub(super) node: Node,
    pub(super) address: Address,
    pub(super) store: Arc<Pipeline>,
    link: AtomicU8,
    pub(super) refuses: AtomicBool,
    /// Whether there may be earlier requests to this node that the member must resend on a new connection.
    had_requests: AtomicBool,
    wanted: Mutex<Instant>,
}

impl Primary {
    pub(super) fn new(node: Node, address: Address, store: Arc<Pipeline>) -> Self {
        Self {
            node,
            address,
            store,
            link: AtomicU8::new(NEW),
            refuses: AtomicBool::new(false),
            had_requests: AtomicBool::new(true),
            wanted: Mutex::new(Instant::START),
        }
    }

    /// Records that the node was connected at set-up, before any request.
    pub(super) fn opened(&self) {
        self.had_requests.store(false, Ordering::Relaxed);
        self.set_up(true);
    }

    pub(super) fn set_up(&self, up: bool) {
        self.link
            .store(if up { UP } else { DOWN }, Ordering::Release);
    }

    pub(super) fn is_up(&self) -> bool {
        self.link.load(Ordering::Acquire) == UP
    }

    pub(super) fn is_well(&self) -> bool {
        self.is_up() && !self.refuses.load(Ordering::Acquire)
    }

    pub(super) fn servers(&self) -> Vec<ServerHealth> {
        let mut servers = self.store.servers();
        for server in &mut servers {
            if server.connected && self.refuses.load(Ordering::Acquire) {
                let why = "the node answers that the cluster is down";
                server.connected = false;
                server.error = Some(StoreError::disconnected(why));
            }
        }
        servers
    }

    pub(super) fn is_new(&self) -> bool {
        self.link.load(Ordering::Acquire) == NEW
    }

    /// Whether the node had a connection or requests before.
    pub(super) fn connects_again(&self) -> bool {
        self.had_requests.swap(true, Ordering::Relaxed)
    }

    pub(super) fn want(&self) {
        *lock(&self.wanted) = clock::now().after(KEPT);
    }

    pub(super) fn is_wanted(&self) -> bool {
        *lock(&self.wanted) > clock::now()
    }
}
