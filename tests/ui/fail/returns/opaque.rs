//! An opaque type and `!` cannot carry the error.
use auto_mutex::auto_mutex;

#[auto_mutex]
fn opaque() -> impl Iterator<Item = u32> {
    0..3
}

#[auto_mutex(on_timeout = skip, on_error = panic)]
fn no_default() -> impl Iterator<Item = u32> {
    0..3
}

#[auto_mutex]
async fn never() -> ! {
    std::process::exit(0)
}

fn main() {
    let _ = (opaque(), no_default(), never());
}
