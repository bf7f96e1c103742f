//! What is real beside a [`World`]: declared waits, and threads that don't take turns.

use std::future::Future;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::channel;

use auto_mutex_core::hook::Turns;
use tokio::runtime::Builder;

use super::world::Shared;
use super::{ROUNDS, World};

impl World {
    /// Runs blocking code that really waits or computes, on a thread beside the World. Virtual time stands still until
    /// it has ended, also if this future is dropped.
    ///
    /// Blocking calls of locks are for [`thread`](Self::thread): here, they panic if they have to wait for virtual
    /// time.
    ///
    /// ```
    /// # use auto_mutex::test::{Runs, World, run};
    /// # run(Runs::new(), async |world: World| {
    /// let file = world.blocking(|| std::fs::read_to_string("Cargo.toml")).await;
    /// # file.unwrap(); });
    /// ```
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let (beside, world) = (self.0.beside.clone(), Arc::downgrade(&self.0));
        let work = tokio::task::spawn_blocking(move || {
            let before = world.upgrade().and_then(|world| world.install_beside());
            let output = work();
            Turns::replace(before);
            // Counts until the test has woken up.
            (output, beside)
        });
        let ended = work.await;
        let ended = ended.unwrap_or_else(|error| resume_unwind(error.into_panic()));
        ended.0
    }

    /// Runs a future in real time, with real sockets, in a runtime of its own. Virtual time stands still until it has
    /// ended. What it spawns or connects ends with it.
    ///
    /// ```
    /// # use auto_mutex::test::{Runs, World, run};
    /// # run(Runs::new(), async |world: World| {
    /// let server = world.real_time(async { tokio::net::TcpListener::bind("127.0.0.1:0").await?.local_addr() });
    /// # server.await.unwrap(); });
    /// ```
    pub async fn real_time<F>(&self, future: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let real = || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(future)
        };
        self.blocking(real).await
    }
}

impl Shared {
    /// Lets a thread beside the World read its clock, and call locks as long as no time has to pass.
    pub(super) fn install_beside(self: &Arc<Self>) -> Option<Turns> {
        self.clock.install();
        let world = Arc::downgrade(self);
        let settle = move || {
            let (settled, waits) = channel::<()>();
            if let Some(world) = world.upgrade() {
                world.runtime().spawn(async move {
                    world.idle(ROUNDS).await;
                    drop(settled);
                });
                let _ = waits.recv();
            }
        };
        self.install_turns(settle)
    }

    /// Panics on a thread that the World doesn't know, where the clock of the locks would be the real one.
    pub(super) fn check_thread(&self, host: &str) {
        if !Turns::are_here() && Self::here().is_none() {
            let message =
                "a thread that the World doesn't know calls a lock: start it with `World::thread`";
            self.note_panic(self.task_number(), host, message);
            panic!("{message}");
        }
    }
}
