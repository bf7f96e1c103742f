//! One handler leaves the other case open.
use auto_mutex::auto_mutex;

#[auto_mutex(on_timeout = skip)]
fn only_timeout() -> u32 {
    1
}

#[auto_mutex(on_error = skip)]
async fn only_error() -> u32 {
    1
}

fn main() {
    let _ = (only_timeout(), only_error());
}
