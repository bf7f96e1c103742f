//! There is nothing to be left out of.
use auto_mutex::no_auto_mutex;

#[no_auto_mutex]
fn close() {}

fn main() {
    close();
}
