//! Ports for servers that may be restarted: no other test takes the port of a server while it is down.
//!
//! Each test process reserves blocks of ports: it listens on the first port of a block, which no other process of this
//! machine can do then, whatever its user and its folder for temporary files. A returned port is reused only when the
//! process has no unused one left, because a remaining client may still try to connect to it. For the same reason,
//! processes begin with different blocks.

use std::collections::VecDeque;
use std::net::TcpListener;
use std::ops::Range;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first port. All ports are below the range for outgoing connections, one of which could otherwise occupy a port
/// while its server is down.
const FIRST: u16 = 20_000;
const BLOCK: u16 = 100;
/// The distance from a cluster node's port to its second port.
const BUS: u16 = 10_000;
/// The number of blocks whose second ports are also below the range for outgoing connections.
const WITH_BUS: u16 = 27;
/// The number of blocks that a process takes before it uses a port again.
const ENOUGH: usize = 5;

static PLAIN: Ports = Ports::of(WITH_BUS..BUS / BLOCK, 0);
static TWOFOLD: Ports = Ports::of(0..WITH_BUS, BUS);

/// The ports of one kind that this process has.
struct Ports {
    blocks: Range<u16>,
    /// The distance to the second port; 0 if there is none.
    second: u16,
    ours: Mutex<Ours>,
}

struct Ours {
    /// Each listens on the first port of a reserved block, until the process ends.
    reserved: Vec<TcpListener>,
    fresh: VecDeque<u16>,
    given_back: VecDeque<u16>,
}

/// A port that no other test uses until it is dropped.
pub(crate) struct Port {
    number: u16,
    ports: &'static Ports,
}

impl Port {
    /// Takes a port on which no process listens.
    pub(crate) fn new() -> Self {
        PLAIN.take()
    }

    /// Takes a port such that no process listens on it or on its second port.
    pub(super) fn with_bus() -> Self {
        TWOFOLD.take()
    }

    pub(crate) fn number(&self) -> u16 {
        self.number
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.ports.ours().given_back.push_back(self.number);
    }
}

impl Ports {
    const fn of(blocks: Range<u16>, second: u16) -> Self {
        let ours = Ours {
            reserved: Vec::new(),
            fresh: VecDeque::new(),
            given_back: VecDeque::new(),
        };
        Self {
            blocks,
            second,
            ours: Mutex::new(ours),
        }
    }

    fn ours(&self) -> MutexGuard<'_, Ours> {
        self.ours.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&'static self) -> Port {
        let mut ours = self.ours();
        loop {
            if ours.fresh.is_empty() && (ours.reserved.len() < ENOUGH || ours.given_back.is_empty())
            {
                self.reserve_a_block(&mut ours);
            }
            let port = ours
                .fresh
                .pop_front()
                .or_else(|| ours.given_back.pop_front());
            let number = port.expect("a port that no other test has");
            if is_free(number) && is_free(number + self.second) {
                let ports = self;
                return Port { number, ports };
            }
        }
    }

    fn reserve_a_block(&self, ours: &mut Ours) {
        let count = self.blocks.len();
        let begin = process::id() as usize % count;
        let mut blocks = self.blocks.clone().cycle().skip(begin).take(count);
        let reserved = blocks.find_map(|block| {
            let first = FIRST + block * BLOCK;
            Some((first, listen(first)?))
        });
        if let Some((first, listener)) = reserved {
            ours.reserved.push(listener);
            ours.fresh.extend(first + 1..first + BLOCK);
        }
    }
}

fn is_free(port: u16) -> bool {
    listen(port).is_some()
}

/// `None` if somebody else listens there.
fn listen(port: u16) -> Option<TcpListener> {
    TcpListener::bind(("127.0.0.1", port)).ok()
}
