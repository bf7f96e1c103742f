//! Helpers of all topics: clients with stores of their own, and a witness that counts running bodies.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use auto_mutex::{Client, Config, LockError};
use auto_mutex_tests::events::{LONG, PATIENCE};

/// A client with its own store, so that tests are independent.
pub(crate) fn client() -> Client {
    Client::connect(config()).expect("memory needs nothing")
}

/// A lease that outlasts every test.
fn config() -> Config {
    let config = Config::new("memory://").expect("a good URL");
    config.lease(LONG)
}

/// Counts bodies that run at the same time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    inside: AtomicUsize,
    most: AtomicUsize,
    calls: AtomicUsize,
}

impl Witness {
    /// Counts a body that begins; the body ends when the result is dropped.
    #[must_use]
    pub(crate) fn enter(&self) -> Inside {
        let inside = self.0.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(inside, Ordering::SeqCst);
        self.0.calls.fetch_add(1, Ordering::SeqCst);
        Inside(self.clone())
    }

    /// An async body that yields several times, so that other bodies could overlap with it.
    pub(crate) async fn visit(&self) {
        let _inside = self.enter();
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
    }

    /// As [`visit`](Self::visit), for threads.
    pub(crate) fn blocking_visit(&self) {
        let _inside = self.enter();
        for _ in 0..5 {
            std::thread::yield_now();
        }
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn now(&self) -> usize {
        self.0.inside.load(Ordering::SeqCst)
    }

    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }
}

/// See [`Witness::enter`].
pub(crate) struct Inside(Witness);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs `future` in a runtime of several threads, under its own client.
pub(crate) fn scoped<T>(future: impl Future<Output = T>) -> T {
    scoped_on(&client(), future)
}

/// As [`scoped`], under a given client.
pub(crate) fn scoped_on<T>(client: &Client, future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, client.scope(future))
            .await
            .expect("must not take that long")
    })
}

/// Runs `call` in eight tasks at once; returns the largest number of bodies that ran at the same time.
pub(crate) fn together<F>(call: impl Fn(Witness) -> F) -> usize
where
    F: Future<Output = Result<(), LockError>> + Send + 'static,
{
    let client = client();
    let witness = Witness::default();
    scoped_on(&client, async {
        let tasks: Vec<_> = (0..8)
            .map(|_| tokio::spawn(client.scope(call(witness.clone()))))
            .collect();
        for task in tasks {
            task.await.expect("no panic").expect("the lock");
        }
    });
    assert_eq!(witness.calls(), 8);
    witness.most()
}

/// As [`together`], with eight threads.
pub(crate) fn blocking_together(call: impl Fn(&Witness) -> Result<(), LockError> + Sync) -> usize {
    let client = client();
    let witness = Witness::default();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| client.blocking_scope(|| call(&witness)).expect("the lock"));
        }
    });
    assert_eq!(witness.calls(), 8);
    witness.most()
}

/// A client whose names begin with `t`, for handles and annotated functions alike.
pub(crate) fn named_client() -> Client {
    Client::connect(config().namespace("t")).expect("memory needs nothing")
}

/// The option that is wrong.
pub(crate) fn wrong_option(error: &LockError) -> &'static str {
    match error {
        LockError::InvalidOption { option, .. } => option,
        error => panic!("{error}"),
    }
}
