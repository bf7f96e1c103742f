//! The executors that the library must work under.

use std::future::Future;

use tokio::runtime::{Builder, Runtime};

/// A tokio runtime that runs on the thread that blocks on it.
pub fn current_thread() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// A tokio runtime with two workers.
pub fn multi_thread() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Runs `future` under smol, without any tokio runtime.
pub fn smol<T>(future: impl Future<Output = T>) -> T {
    smol::block_on(future)
}
