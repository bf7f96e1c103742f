//! The error must be made from a `LockError`.
use auto_mutex::auto_mutex;

struct MyError;

#[auto_mutex]
fn sync() -> Result<u32, MyError> {
    Ok(1)
}

#[auto_mutex]
async fn future() -> Result<u32, String> {
    Ok(1)
}

#[auto_mutex]
fn generic<E>() -> Result<u32, E> {
    Ok(1)
}

#[auto_mutex(on_timeout = skip)]
async fn half<E>() -> Result<u32, E> {
    Ok(1)
}

/// An error of another crate.
#[auto_mutex]
fn foreign() -> std::io::Result<u32> {
    Ok(1)
}

struct Ledger<E>(E);

impl<E> Ledger<E> {
    #[auto_mutex]
    fn of_type(&self) -> Result<u32, Vec<E>> {
        Ok(1)
    }
}

fn main() {
    let _ = (sync(), foreign(), future(), generic::<MyError>(), half::<MyError>(), Ledger(MyError).of_type());
}
