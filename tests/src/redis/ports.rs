//! Ports for servers that may be restarted: nobody else takes one while its server is down.
//!
//! A test process has blocks of ports for itself, by a locked file each. What a test gave back is used again late: a
//! client that is left may still try to connect to it.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::net::TcpListener;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Below the range from which systems take ports for outgoing connections: else somebody's connection
/// could have the port by the time the server is started again.
const FIRST: u16 = 20_000;
const BLOCK: u16 = 100;
/// How far above its port a node of a cluster has its second one.
const BUS: u16 = 10_000;
/// So many blocks have their second ports below the range for outgoing connections too.
const WITH_BUS: u16 = 27;
/// So many blocks a process takes before it uses a port again.
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
    /// Locked until the process ends.
    locks: Vec<File>,
    fresh: VecDeque<u16>,
    given_back: VecDeque<u16>,
}

/// A port that no other test uses until it is dropped.
pub(super) struct Port {
    number: u16,
    ports: &'static Ports,
}

impl Port {
    /// One that nobody listens at.
    pub(super) fn new() -> Self {
        PLAIN.take()
    }

    /// One at which nobody listens, nor at the second one.
    pub(super) fn with_bus() -> Self {
        TWOFOLD.take()
    }

    pub(super) fn number(&self) -> u16 {
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

/// The file of a block, unless a process has it.
fn lock(block: u16) -> Option<File> {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("auto-mutex-ports-{user}"));
    fs::create_dir_all(&folder).expect("a folder for the locks of ports");
    let file = File::create(folder.join(block.to_string())).expect("the lock of a block of ports");
    file.try_lock().is_ok().then_some(file)
}
