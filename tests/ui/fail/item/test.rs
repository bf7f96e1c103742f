//! As with main: the test's runtime comes first.
use auto_mutex::auto_mutex;

#[auto_mutex]
#[tokio::test]
async fn closes_the_month() -> Result<(), auto_mutex::LockError> {
    Ok(())
}

fn main() {}
