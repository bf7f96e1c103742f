//! A function that cannot carry the error needs handlers: the body never runs unlocked.
use auto_mutex::auto_mutex;

#[auto_mutex]
fn sync() {}

#[auto_mutex]
async fn future() {}

#[auto_mutex(block = 10)]
fn value() -> Option<u32> {
    Some(1)
}

struct Ledger;

#[auto_mutex]
impl Ledger {
    fn close(&self) -> u32 {
        1
    }
}

fn main() {
    sync();
    let _ = (future(), value(), Ledger.close());
}
