//! Clients in several processes, which connect and stay connected.

use super::{Child, Placement};
use crate::Failure;
use crate::clock::{self, MILLISECOND};
use crate::job::{Fleet, Job};
use crate::peer::Contender;
use crate::server::Server;
use crate::worker::talk::Span;

/// The most clients of a process.
const CLIENTS: usize = 250;
/// How far in the future the start is set, so that all processes know it before.
const LEAD: u64 = 50 * MILLISECOND;

/// The processes; the drop kills them.
pub(crate) struct Fleets(Vec<Child>);

impl Fleets {
    /// Starts the processes. In each of them, `at_once` clients connect at a time.
    pub(crate) fn ready(
        server: &Server,
        contender: Contender,
        placement: Placement,
        clients: usize,
        at_once: usize,
    ) -> Result<Self, Failure> {
        let mut fleets = Vec::new();
        let mut left = clients;
        while left > 0 {
            let fleet = Fleet {
                contender,
                url: server.url(),
                clients: left.min(CLIENTS),
                at_once,
            };
            left -= fleet.clients;
            fleets.push(Child::start(&Job::Fleet(fleet), placement)?);
        }
        for fleet in &fleets {
            fleet.expect::<()>("ready")?;
        }
        Ok(Self(fleets))
    }

    /// Lets all clients connect, and waits until each of them has used its lock.
    pub(crate) fn connect(mut self) -> Result<Self, Failure> {
        let start = clock::now() + LEAD;
        for fleet in &mut self.0 {
            fleet.go(Span { start, until: 0 })?;
        }
        for fleet in &self.0 {
            fleet.expect::<u64>("served")?;
        }
        Ok(self)
    }
}
