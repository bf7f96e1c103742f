//! The guard is that of the lock.
use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore};

type Out = Result<(), LockError>;

#[auto_read(guard = g)]
fn read() -> Out {
    let _: &auto_mutex::MutexGuard = g;
    Ok(())
}

#[auto_semaphore(permits = 2, guard = g)]
async fn semaphore() -> Out {
    let _: &auto_mutex::MutexGuard = g;
    Ok(())
}

#[auto_mutex(keys = [1, 2], guard = g)]
fn several() -> Out {
    let _: &auto_mutex::MutexGuard = g;
    Ok(())
}

fn main() {
    let _ = (read(), semaphore(), several());
}
