//! Each attribute says its own name.
use auto_mutex::{LockError, auto_mutex, auto_read, auto_semaphore, auto_write, no_auto_mutex};

type Out = Result<(), LockError>;

#[auto_read]
struct Struct;

#[auto_write] const fn constant() {}

mod program {
    #[auto_mutex::auto_semaphore(permits = 1)] async fn main() {}
}

#[auto_semaphore(permits = 1)]
#[tokio::test]
async fn test() {}

#[auto_read]
#[auto_write]
fn two() -> Out { Ok(()) }

#[auto_write]
#[auto_write]
fn twice() -> Out { Ok(()) }

#[auto_read]
#[auto_mutex]
impl Struct {
    fn nothing(&self) -> Out { Ok(()) }
}

#[auto_write]
impl Struct {
    #[auto_read]
    #[no_auto_mutex]
    fn marked_out(&self) -> Out { Ok(()) }

    #[auto_read]
    #[auto_mutex]
    fn marked_twice(&self) -> Out { Ok(()) }
    #[cfg_attr(all(), auto_read)] fn conditional(&self) -> Out { Ok(()) }
    #[auto_read = "x"] fn value(&self) -> Out { Ok(()) }
}

#[auto_write(key = "{id}")]
impl Struct {
    fn inherited(&self) -> Out { Ok(()) }
}

#[auto_read(permit = 2)] fn unknown() -> Out { Ok(()) }
