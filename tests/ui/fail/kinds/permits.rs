//! A semaphore says how many; nothing else does.
use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore, auto_write};

type Out = Result<(), LockError>;

#[auto_semaphore] fn missing() -> Out { Ok(()) }
#[auto_semaphore(permits = 0)] fn zero() -> Out { Ok(()) }
#[auto_semaphore(permits = -1)] fn negative() -> Out { Ok(()) }
#[auto_semaphore(permits = 1073741824)] fn too_many() -> Out { Ok(()) }
#[auto_semaphore(permits = 0.5)] fn half() -> Out { Ok(()) }
#[auto_semaphore(permits)] fn no_value() -> Out { Ok(()) }
#[auto_mutex(permits = 5)] fn mutex() -> Out { Ok(()) }
#[auto_read(permits = 5)] fn read() -> Out { Ok(()) }

struct Pool;

#[auto_semaphore(expire = 5)]
impl Pool {
    #[auto_semaphore(permits = 2)] fn has(&self) -> Out { Ok(()) }
    #[auto_semaphore(block = 2)] fn has_not(&self) -> Out { Ok(()) }
    fn not_marked(&self) -> Out { Ok(()) }
}

#[auto_write]
impl Pool {
    #[auto_write(permits = 2)] fn write(&self) -> Out { Ok(()) }
}
