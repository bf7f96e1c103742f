//! Workers as threads of this process, each with a client of its own, on `memory://`.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

use auto_mutex::Client;
use tokio::sync::Notify;

use super::{Crew, Killed};
use crate::Failure;
use crate::clock::Time;
use crate::event::Event;
use crate::ledger::Ledger;
use crate::plan::{EXPIRE_OF_THREADS, Protection, WORKERS};
use crate::store::Store;
use crate::witness::Witness;
use crate::worker::{Orders, Reporter, live};

/// The worker threads.
pub(crate) struct Threads {
    workers: Vec<Worker>,
}

struct Worker {
    orders: Orders,
    abandon: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Threads {
    pub(crate) fn start(
        store: &Store,
        witness: &Witness,
        protection: Protection,
        events: &Sender<Event>,
    ) -> Result<Self, Failure> {
        let mut threads = Self {
            workers: Vec::new(),
        };
        for number in 0..WORKERS {
            let client = Client::connect(store.config()?)?;
            let orders = Orders::default();
            let abandon = Arc::new(Notify::new());
            let events = events.clone();
            let ledger = Ledger {
                worker: number,
                witness: witness.clone(),
                reporter: Reporter::new(number, move |event| {
                    // Sending fails only when the show is over.
                    let _ = events.send(event);
                }),
                orders: orders.clone(),
                expire: EXPIRE_OF_THREADS,
            };
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()?;
            let abandoned = abandon.clone();
            let thread = thread::spawn(move || {
                runtime.block_on(async {
                    let mut life = Box::pin(client.scope(async move {
                        live(&ledger, protection).await;
                    }));
                    tokio::select! {
                        () = &mut life => {}
                        // Forgotten, because a drop would release the lock: nothing polls the call after this.
                        () = abandoned.notified() => std::mem::forget(life),
                    }
                });
            });
            threads.workers.push(Worker {
                orders,
                abandon,
                thread: Some(thread),
            });
        }
        Ok(threads)
    }
}

impl Crew for Threads {
    fn order_stay(&mut self, worker: usize) -> Result<(), Failure> {
        self.workers[worker].orders.order_stay();
        Ok(())
    }

    fn kill(&mut self, worker: usize) -> Result<Killed, Failure> {
        let worker = &mut self.workers[worker];
        let at = Time::now();
        worker.abandon.notify_one();
        join(worker)?;
        let dead = Time::now();
        Ok(Killed { at, dead })
    }

    fn stop(&mut self) -> Result<(), Failure> {
        for worker in &self.workers {
            worker.orders.order_stop();
        }
        self.workers.iter_mut().try_for_each(join)
    }
}

fn join(worker: &mut Worker) -> Result<(), Failure> {
    match worker.thread.take().map(JoinHandle::join) {
        Some(Err(_)) => Err("a worker panicked".into()),
        _ => Ok(()),
    }
}
