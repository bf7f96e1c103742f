//! Connections made by the program: `Config::dialer`. Its code may block or panic, so it runs neither on an engine's
//! thread nor on a caller's. A socket pair connects us to a task on another thread, which relays the bytes.

mod outside;
mod pass;

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::sync::Arc;

use tokio::net;
use tokio::sync::oneshot;

pub use self::outside::MOST_CALLS;
use self::pass::pass;
use super::local::pair;
use crate::base::sync::Mutex;
use crate::store::{Dialer, first, lock};

/// How many answers a dialer may wait for: those of a proxy, a login and a handshake.
pub const DIALED_STEPS: u32 = 4;

/// Why the program's stream failed, because a socket pair carries no errors.
#[derive(Clone, Debug, Default)]
pub struct Fault(Arc<Mutex<Option<io::Error>>>);

/// Connects by the program's function. The socket is in nonblocking mode.
pub async fn dialed(dialer: &Dialer, host: &str, port: u16) -> io::Result<(TcpStream, Fault)> {
    let (near, far) = pair()?;
    near.set_nonblocking(true)?;
    far.set_nonblocking(true)?;
    let fault = Fault::default();
    let (mut outcome, dialed) = oneshot::channel();
    let (dialer, host, of_stream) = (dialer.clone(), host.to_owned(), fault.clone());
    // A panic in the dialer ends the call and drops `outcome`.
    outside::start(async move {
        let dialing = async {
            let stream = dialer.dial(host, port).await?;
            tokio::spawn(pass(stream, net::TcpStream::from_std(far)?, of_stream));
            Ok(())
        };
        let given_up = async {
            outcome.closed().await;
            None
        };
        if let Some(dialed) = first(given_up, async { Some(dialing.await) }).await {
            let _ = outcome.send(dialed);
        }
    })?;
    match dialed.await {
        Ok(outcome) => outcome.map(|()| (near, fault)),
        Err(_) => Err(io::Error::other("the dialer panicked")),
    }
}

impl Fault {
    fn set(&self, error: Option<io::Error>) {
        *lock(&self.0) = error;
    }

    /// If the read has reached the end of the data because the program's stream failed, returns that failure instead.
    pub fn explain(&self, read: io::Result<usize>) -> io::Result<usize> {
        let has_ended = match &read {
            Ok(count) => *count == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        match has_ended.then(|| lock(&self.0).take()).flatten() {
            Some(error) => Err(error),
            None => read,
        }
    }
}
