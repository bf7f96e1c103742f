//! Lists, permits and guards of other types.
use auto_mutex::{LockError, MutexGuard, auto_mutex, auto_read, auto_semaphore};

type Out = Result<(), LockError>;

struct Id;

#[auto_mutex(keys = n)] fn number(n: u32) -> Out { Ok(()) }
#[auto_mutex(keys = ids)] fn iterator(ids: impl Iterator<Item = u32>) -> Out { Ok(()) }
#[auto_mutex(keys = ids)] fn not_display(ids: &[Id]) -> Out { Ok(()) }
#[auto_mutex(keys = [id])] fn not_display_in_list(id: Id) -> Out { Ok(()) }
#[auto_mutex(owner = id)] fn not_display_owner(id: Id) -> Out { Ok(()) }
#[auto_semaphore(permits = size)] fn permits(size: usize) -> Out { Ok(()) }

/// The guard is that of the lock.
#[auto_read(guard = g)] fn read() -> Out { let _: &MutexGuard = g; Ok(()) }
#[auto_semaphore(permits = 2, guard = g)] async fn semaphore() -> Out { let _: &MutexGuard = g; Ok(()) }
#[auto_mutex(keys = [1, 2], guard = g)] fn several() -> Out { let _: &MutexGuard = g; Ok(()) }
