//! Takes a lock, and leaves it to the end of `main`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("no URL")?;
    let client = auto_mutex::Client::connect(url)?;
    std::mem::forget(client.mutex("m").blocking_lock()?);
    Ok(())
}
