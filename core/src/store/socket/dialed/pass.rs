//! [`pass`]: relays bytes between the program's stream and our socket pair until either ends.

use std::io;
use std::pin::pin;
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, split};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Fault;
use crate::store::{DialedStream, first};

const LAST_WORDS: Duration = Duration::from_secs(1);

const BUFFER: usize = 8 * 1024;

struct Panicking<'a>(&'a Fault);

impl Drop for Panicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let panicked = io::Error::other("the dialer's stream panicked");
            self.0.set(Some(panicked));
        }
    }
}

/// Writes all bytes before it reads again. `copy` reads ahead, and loses unwritten bytes if that read fails.
async fn forward(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer).await? {
            0 => return Ok(()),
            count => to.write_all(&buffer[..count]).await?,
        }
    }
}

pub(super) async fn pass(stream: Box<dyn DialedStream>, far: TcpStream, fault: Fault) {
    let (mut from_server, mut to_server) = split(stream);
    let (mut from_us, mut to_us) = far.into_split();
    // After a panic, it is dropped before `to_us`, so that the fault is set before our end sees the end of the data.
    let _panicking = Panicking(&fault);
    let mut replies = pin!(forward(&mut from_server, &mut to_us));
    // `Err`: the server's direction has ended.
    let ended = first(async { Err(replies.as_mut().await) }, async {
        Ok(copy(&mut from_us, &mut to_server).await)
    });
    let error = match ended.await {
        Err(end) => end.err(),
        Ok(Ok(_)) => {
            let _ = timeout(LAST_WORDS, to_server.shutdown()).await;
            None
        }
        // The server may have sent the reason before it closed the connection.
        Ok(Err(error)) => match timeout(LAST_WORDS, replies).await {
            Ok(end) => end.err(),
            Err(_) => Some(error),
        },
    };
    fault.set(error);
}
