//! The guard needs a plain name, and a body that runs under the lock and only looks at it.
use std::future::Future;

use auto_mutex::{LockError, Mutex, auto_mutex, auto_semaphore, auto_write};

type Out<T = ()> = Result<T, LockError>;

#[auto_mutex(guard = "g")] fn text() -> Out { Ok(()) }
#[auto_mutex(guard = self.guard)] fn field() -> Out { Ok(()) }
#[auto_mutex(guard = mut g)] fn mutable() -> Out { Ok(()) }
#[auto_mutex(guard = &mut g, block = 10)] fn reference() -> Out { Ok(()) }

#[auto_mutex(guard = g)]
fn made() -> impl Future<Output = Out> {
    let n = 1;
    async move { Ok(()) }
}

/// It cannot be given away.
#[auto_mutex(guard = g)] async fn close() -> Out { g.unlock().await?; Ok(()) }
#[auto_semaphore(permits = 2, guard = permit)] fn download() -> Out<u32> { permit.blocking_release() }
#[auto_write(guard = g)] async fn write() -> Out { g.downgrade().await?.check() }

struct Ledger;

#[auto_mutex(guard = g)]
impl Ledger {
    fn open(&self) -> Out<bool> { g.blocking_unlock() }

    /// A guard of its own is another thing.
    async fn check(&self) -> Out<bool> {
        let g = Mutex::new("ledger").lock().await?;
        g.unlock().await
    }
}

/// Nor can a task or a thread have it.
#[auto_mutex(guard = g)]
async fn spawns() -> Out {
    let task = tokio::spawn(async move { g.check() });
    task.await.expect("no panic")
}

#[auto_mutex(guard = g)]
fn thread() -> Out {
    let thread = std::thread::spawn(move || g.check());
    thread.join().expect("no panic")
}
