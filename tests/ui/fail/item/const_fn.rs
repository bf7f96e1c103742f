//! A const fn cannot wait.
use auto_mutex::{LockError, auto_mutex};

#[auto_mutex]
const fn answer() -> Result<u32, LockError> {
    Ok(42)
}

const ANSWER: Result<u32, LockError> = answer();

fn main() {
    let _ = ANSWER;
}
