//! What cannot be a test with a world of its own.
struct World;

#[auto_mutex::test]
struct Ledger;

#[auto_mutex::test] async fn two_worlds(_: World, _: World) {}
#[auto_mutex::test] async fn generic<T: Default>(_: World) {}

impl Ledger {
    #[auto_mutex::test] async fn method(&self, _: World) {}
}

#[auto_mutex::test] const fn constant(_: World) {}
#[auto_mutex::test] unsafe extern "C" fn foreign(_: World) {}

#[auto_mutex::test]
#[tokio::test]
async fn of_tokio(_: World) {}

#[tokio::test]
#[auto_mutex::test]
async fn of_tokio_first() {}

#[auto_mutex::test]
#[test]
fn plain(_: World) {}

#[auto_mutex::test]
#[auto_mutex::auto_mutex]
async fn locked(_: World) -> Result<(), auto_mutex::LockError> { Ok(()) }

#[auto_mutex::test] async fn borrows(_: &World) {}
#[auto_mutex::test] async fn conditional(#[cfg(all())] _: World) {}

trait Tests {
    #[auto_mutex::test] fn bodiless();
}
