//! Makes as many uncontended calls of an annotated function as it is told: see `run` beside this.

use std::env;

use auto_mutex::{LockError, auto_mutex, setup};

#[auto_mutex]
fn section() -> Result<(), LockError> {
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls: u32 = env::args().nth(1).ok_or("how many calls?")?.parse()?;
    setup(&*env::var("AUTO_MUTEX_URL")?)?;
    for _ in 0..calls {
        section()?;
    }
    auto_mutex::blocking_shutdown();
    Ok(())
}
