//! The seats of a worker.

use std::future::pending;

use auto_mutex::{Client, LockError, Overrun, Term};

use super::serve::{say, seconds};

/// Reports that the body has ended.
struct Ends(String);

impl Drop for Ends {
    fn drop(&mut self) {
        say(&format!("ends {}", self.0));
    }
}

/// Leads until the client is shut down.
pub(super) fn start(client: &Client, name: &str, options: &[&str]) {
    let (mut seat, mut hangs) = (client.leader(name), false);
    for option in options {
        seat = match option.split_once('=') {
            Some(("stop_within", time)) => seat.stop_within(seconds(time)),
            Some(("progress", time)) => seat.progress(seconds(time)),
            _ if *option == "abort" => seat.on_overrun(Overrun::Abort),
            _ if *option == "hang" => {
                hangs = true;
                seat
            }
            _ => panic!("no such option: {option:?}"),
        };
    }
    let name = name.to_owned();
    if hangs {
        std::thread::spawn(move || {
            seat.blocking_lead(|term| -> Result<(), LockError> {
                say(&format!("leads {name} {}", term.number()));
                loop {
                    std::thread::park();
                }
            })
        });
        return;
    }
    tokio::spawn(async move {
        let body = async move |term: &Term| {
            let _ends = Ends(name.clone());
            say(&format!("leads {name} {}", term.number()));
            pending::<Result<(), LockError>>().await
        };
        seat.lead(body).await
    });
}
