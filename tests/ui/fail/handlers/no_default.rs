//! `skip` needs a default.
use auto_mutex::{LockError, auto_mutex};

struct Report;

#[auto_mutex(on_timeout = skip)]
fn close() -> Result<Report, LockError> {
    Ok(Report)
}

#[auto_mutex(on_timeout = skip, on_error = panic)]
async fn open() -> Report {
    Report
}

fn main() {
    let _ = (close(), open());
}
