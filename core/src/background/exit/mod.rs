//! The end of the process, by itself or by a signal. Only [`system`] contains `unsafe`.
//!
//! When the process ends, this releases all locks, or first lets bodies end. The background threads do the releasing,
//! because the ending thread may have lost its thread-locals, or may have been interrupted with a mutex locked. The
//! ending thread waits for them up to [`LIMIT`], allocates nothing, runs no user code, and never blocks on a mutex.

// Only signals drain all clients.
#![cfg_attr(not(unix), allow(dead_code))]

mod signals;
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(not(unix), path = "windows.rs")]
mod system;

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::Duration;

pub use self::signals::{release_on_termination, release_on_termination_within};
pub(crate) use self::system::register;
use crate::base::clock;
use crate::base::process::PerProcess;
use crate::observe::HOLD;
use crate::queue::ClientCore;

/// How long the end of the process waits for releases.
const LIMIT: Duration = Duration::from_millis(500);
/// Applies even after [`LIMIT`]: a suspend may use up that time before the background threads have run.
const LEAST_PAUSES: u32 = 50;
const FIRST_PAUSE: Duration = Duration::from_micros(50);
const LAST_PAUSE: Duration = Duration::from_millis(5);

static WATCHED: PerProcess<Watched> = PerProcess::new(Watched::default);

/// For `atexit`.
extern "C" fn at_exit() {
    // A panic must not cross into C.
    let _ = std::panic::catch_unwind(|| WATCHED.get().flush());
}

pub(crate) fn watch(client: &Arc<ClientCore>) {
    if !register() {
        tracing::warn!(
            target: HOLD,
            "cannot watch the end of the process: locks held then become free when their leases end"
        );
    }
    WATCHED.get().add(client.clone());
}

/// The clients of this process that still exist.
pub(crate) fn clients() -> Vec<Arc<ClientCore>> {
    WATCHED.get().clients()
}

#[derive(Default)]
struct Watched {
    clients: Mutex<Vec<Weak<ClientCore>>>,
    draining: AtomicBool,
    ending: AtomicBool,
}

impl Watched {
    fn add(&self, client: Arc<ClientCore>) {
        let mut clients = self.lock();
        clients.retain(|client| client.strong_count() > 0);
        clients.push(Arc::downgrade(&client));
        drop(clients);
        // A `flush` or `drain` that started earlier may have missed this client.
        if self.ending.load(Ordering::SeqCst) {
            client.end();
        } else if self.draining.load(Ordering::SeqCst) {
            client.start_draining();
        }
    }

    /// Returns a description of each lock that is still held after `limit`.
    fn drain(&self, limit: Duration) -> Vec<String> {
        let ends = clock::now().after(limit);
        self.draining.store(true, Ordering::SeqCst);
        self.clients()
            .iter()
            .for_each(|client| client.start_draining());
        loop {
            let now = clock::now();
            let held: Vec<_> = self
                .clients()
                .iter()
                .filter(|client| !client.is_forked())
                .flat_map(|client| client.held())
                .map(|held| held.to_string())
                .collect();
            if held.is_empty() || ends <= now {
                return held;
            }
            // Checks of very many names are slow, so the pause grows with their time.
            let looked = now.until(clock::now());
            thread::sleep(LAST_PAUSE.max(looked * 4).min(now.until(ends)));
        }
    }

    /// Called at exit or after a signal, while the background threads still run.
    fn flush(&self) {
        self.ending.store(true, Ordering::SeqCst);
        let mut pause = pauses();
        let clients = loop {
            match self.clients.try_lock() {
                Ok(clients) => break clients,
                Err(TryLockError::Poisoned(clients)) => break PoisonError::into_inner(clients),
                // Either another thread is adding a client, or a signal interrupted this thread while it added one.
                Err(TryLockError::WouldBlock) if pause() => {}
                Err(TryLockError::WouldBlock) => return,
            }
        };
        // Upgraded references are not dropped, because dropping the last one would free the client.
        let all = || clients.iter().filter_map(Weak::upgrade);
        let all = || all().map(ManuallyDrop::new);
        // All are notified before the first is awaited, so that no client waits for another one's server.
        all().for_each(|client| client.end());
        while !all().all(|client| client.has_ended()) && pause() {}
    }

    fn clients(&self) -> Vec<Arc<ClientCore>> {
        self.lock().iter().filter_map(Weak::upgrade).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<ClientCore>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sleeps, longer with each call. Returns `false` once [`LIMIT`] is over.
fn pauses() -> impl FnMut() -> bool {
    let ends = clock::now().after(LIMIT);
    let (mut count, mut pause) = (0, FIRST_PAUSE);
    move || {
        if count >= LEAST_PAUSES && clock::now() >= ends {
            return false;
        }
        thread::sleep(pause);
        count += 1;
        pause = LAST_PAUSE.min(pause * 2);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::{Client, LockError};

    /// A client that holds a lock. The tests end it through their own `Watched`.
    fn client() -> (Client, crate::MutexGuard) {
        let client = Client::connect("memory://").unwrap();
        let guard = client.mutex("m").blocking_lock().unwrap();
        (client, guard)
    }

    #[test]
    fn a_client_that_is_just_being_made_does_not_keep_others_from_their_release() {
        let (watched, (client, guard)) = (Watched::default(), client());
        watched.add(client.core().clone());
        thread::scope(|scope| {
            let making = watched.lock();
            let (sender, ended) = mpsc::channel();
            let watched = &watched;
            scope.spawn(move || {
                watched.flush();
                let _ = sender.send(());
            });
            while !watched.ending.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            // By now `flush` is waiting for the registry's mutex, or is about to.
            drop(making);
            ended.recv().unwrap();
        });
        assert!(guard.is_lost());
    }

    #[test]
    fn the_end_of_a_thread_that_makes_a_client_is_not_held_up() {
        let (watched, (client, guard)) = (Watched::default(), client());
        watched.add(client.core().clone());
        let making = watched.lock();
        watched.flush();
        assert!(!guard.is_lost());
        drop(making);
    }

    #[test]
    fn all_clients_drain_and_so_does_one_that_is_made_meanwhile() {
        let (watched, (client, guard)) = (Watched::default(), client());
        watched.add(client.core().clone());
        thread::scope(|scope| {
            let draining = scope.spawn(|| watched.drain(Duration::from_secs(600)));
            while client.core().is_open() {
                thread::yield_now();
            }
            let late = Client::connect("memory://").unwrap();
            watched.add(late.core().clone());
            let refused = late.mutex("m").blocking_lock();
            assert!(matches!(refused, Err(LockError::ShutDown)), "{refused:?}");
            guard.check().unwrap();
            drop(guard);
            assert!(draining.join().unwrap().is_empty());
        });
    }

    #[test]
    fn what_is_held_when_the_time_is_over_is_named() {
        let (watched, (client, guard)) = (Watched::default(), client());
        watched.add(client.core().clone());
        let left = watched.drain(Duration::ZERO);
        assert!(
            left.len() == 1 && left[0].starts_with("`m` for "),
            "{left:?}"
        );
        // No lock is released yet.
        guard.check().unwrap();
    }

    #[test]
    fn a_client_that_is_made_while_the_process_ends_is_closed() {
        let (watched, (client, guard)) = (Watched::default(), client());
        watched.flush();
        watched.add(client.core().clone());
        while !client.core().has_ended() {
            thread::yield_now();
        }
        assert!(guard.is_lost());
        let refused = client.mutex("m").blocking_lock();
        assert!(matches!(refused, Err(LockError::ShutDown)), "{refused:?}");
    }
}
