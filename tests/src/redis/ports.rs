//! Ports for servers that may be restarted: no other test takes the port of a server while it is down.
//!
//! Each test process reserves blocks of ports, with a locked file per block. A returned port is reused only when the
//! process has no unused one left, because a remaining client may still try to connect to it.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::Range;
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
    /// The files of the reserved blocks, locked until the process ends.
    locks: Vec<File>,
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
            locks: Vec::new(),
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
            if ours.fresh.is_empty() && (ours.locks.len() < ENOUGH || ours.given_back.is_empty()) {
                self.lock_a_block(&mut ours);
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

    fn lock_a_block(&self, ours: &mut Ours) {
        let mut blocks = self.blocks.clone();
        if let Some((block, lock)) = blocks.find_map(|block| Some((block, lock(block)?))) {
            let first = FIRST + block * BLOCK;
            ours.locks.push(lock);
            ours.fresh.extend(first..first + BLOCK);
        }
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind(("127.0.0.1", port)).is_ok()
}

/// Locks the file of a block; `None` if another process has locked it.
fn lock(block: u16) -> Option<File> {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("auto-mutex-ports-{user}"));
    fs::create_dir_all(&folder).expect("a folder for the locks of ports");
    let file = File::create(folder.join(block.to_string())).expect("the lock of a block of ports");
    file.try_lock().is_ok().then_some(file)
}
