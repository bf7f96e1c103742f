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

fn main() {
    let _ = (sync(), future(), generic::<MyError>());
}
