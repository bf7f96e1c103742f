//! The seats of a worker, whose bodies hang.

use auto_mutex::{Client, LockError, Overrun};

use super::serve::{say, seconds};

/// Leads with a body that never ends.
pub(super) fn start(client: &Client, name: &str, options: &[&str]) {
    let mut seat = client.leader(name).on_overrun(Overrun::Abort);
    for option in options {
        seat = match option.split_once('=') {
            Some(("stop_within", time)) => seat.stop_within(seconds(time)),
            Some(("progress", time)) => seat.progress(seconds(time)),
            _ => panic!("no such option: {option:?}"),
        };
    }
    let name = name.to_owned();
    std::thread::spawn(move || {
        seat.blocking_lead(|term| -> Result<(), LockError> {
            say(&format!("leads {name} {}", term.number()));
            loop {
                std::thread::park();
            }
        })
    });
}
