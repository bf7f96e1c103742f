//! The body only borrows its guard, so a task that it spawns cannot have the guard.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex(guard = g)]
async fn spawns() -> Result<(), LockError> {
    let task = tokio::spawn(async move { g.check() });
    task.await.expect("no panic")
}

#[auto_mutex(guard = g)]
fn thread() -> Result<(), LockError> {
    let thread = std::thread::spawn(move || g.check());
    thread.join().expect("no panic")
}

fn main() {}
