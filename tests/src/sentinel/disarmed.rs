//! A service whose promoted servers look as if they had always been primaries: what the failover guard is there for can be
//! seen without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Service;
use crate::resp::Connection;

/// Until it is dropped, promoted servers forget that they were replicas.
pub struct Disarmed {
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Service {
    /// Has every server forget that it was a replica, within a millisecond or two of its promotion: long before a client
    /// comes. Without the restart guard too (`Config::restart_guard`) the new primary then grants at once. Needs
    /// [`ServiceOptions::disarmable`](super::ServiceOptions::disarmable).
    pub fn disarm(&self) -> Disarmed {
        let ended = Arc::new(AtomicBool::new(false));
        let ports = self.servers().iter().map(|server| server.port());
        let threads = ports.map(|port| {
            let (ended, password) = (ended.clone(), self.options.password());
            thread::spawn(move || {
                while !ended.load(Ordering::Acquire) {
                    // It may be down, or suspended: then again.
                    let _ = forget(port, password.as_deref(), &ended);
                    thread::sleep(Duration::from_millis(5));
                }
            })
        });
        Disarmed {
            threads: threads.collect(),
            ended,
        }
    }
}

fn forget(port: u16, password: Option<&str>, ended: &AtomicBool) -> Result<(), String> {
    let connection = Connection::brief(port, Duration::from_secs(1));
    let mut connection = connection.map_err(|error| error.to_string())?;
    if let Some(password) = password {
        connection.try_call(&["AUTH", password])?;
    }
    while !ended.load(Ordering::Acquire) {
        let info = connection.try_call(&["INFO", "replication"])?;
        let mut lines = info.text().lines();
        let before = lines.find_map(|line| line.strip_prefix("master_replid2:"));
        let was_replica = before.is_some_and(|id| id.chars().any(|digit| digit != '0'));
        if was_replica && info.text().contains("role:master") {
            connection.try_call(&["DEBUG", "CHANGE-REPL-ID"])?;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

impl Drop for Disarmed {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
