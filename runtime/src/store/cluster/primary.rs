//! [`Primary`]: a node of the cluster that this member talks to.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;
use crate::config::Address;
use crate::store::Node;
use crate::store::redis::{RedisStore, TermKeys};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use crate::wait::lock;

/// No attempt to connect has ended yet.
const NEW: u8 = 0;
const UP: u8 = 1;
const DOWN: u8 = 2;

/// How long a node is kept that serves no slot, after it was last asked for one that was on its way.
const KEPT: Duration = Duration::from_secs(60);

/// A node that serves slots, or will.
#[derive(Debug)]
pub(super) struct Primary {
    /// Its own, for ever.
    pub(super) node: Node,
    pub(super) address: Address,
    pub(super) store: Arc<RedisStore>,
    pub(super) epoch: TermKeys,
    link: AtomicU8,
    /// It answers that the cluster does not work.
    pub(super) refuses: AtomicBool,
    generation: AtomicU64,
    /// Until when it is of use although it may serve no slot.
    wanted: Mutex<Instant>,
}

impl Primary {
    /// `first`: nothing was asked before it is there.
    pub(super) fn new(
        node: Node,
        address: Address,
        store: Arc<RedisStore>,
        epoch: TermKeys,
        first: bool,
    ) -> Self {
        Self {
            node,
            address,
            store,
            epoch,
            link: AtomicU8::new(NEW),
            refuses: AtomicBool::new(false),
            generation: AtomicU64::new(if first { 1 } else { 2 }),
            wanted: Mutex::new(Instant::START),
        }
    }

    /// The connection is there, or an attempt to make one has failed.
    pub(super) fn set_up(&self, up: bool) {
        self.link
            .store(if up { UP } else { DOWN }, Ordering::Release);
    }

    pub(super) fn is_up(&self) -> bool {
        self.link.load(Ordering::Acquire) == UP
    }

    /// Whether it serves what it should.
    pub(super) fn is_well(&self) -> bool {
        self.is_up() && !self.refuses.load(Ordering::Acquire)
    }

    /// Whether nobody knows yet if it can be reached.
    pub(super) fn is_new(&self) -> bool {
        self.link.load(Ordering::Acquire) == NEW
    }

    /// The number of the next connection, or of what is as good as one.
    pub(super) fn next_generation(&self) -> u64 {
        self.generation.fetch_add(1, Ordering::Relaxed)
    }

    /// It was asked, or is to be, for a slot that is on its way.
    pub(super) fn want(&self) {
        *lock(&self.wanted) = Instant::now().after(KEPT);
    }

    pub(super) fn is_wanted(&self) -> bool {
        *lock(&self.wanted) > Instant::now()
    }
}
