//! [`pass`]: passes bytes on between the program's stream and our socket pair, until either ends.

use std::future::{Future as _, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use auto_mutex_core::store::DialedStream;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, split};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::Fault;

/// How long the last bytes may take, in either direction.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How many bytes of replies are read at once.
const BUFFER: usize = 8 * 1024;

/// Sets the fault if the program's stream panics.
struct Panicking<'a>(&'a Fault);

impl Drop for Panicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let panicked = io::Error::other("the dialer's stream panicked");
            self.0.set(Some(panicked));
        }
    }
}

/// Which direction ended first.
enum Ended {
    Requests(io::Result<u64>),
    Replies(io::Result<()>),
}

/// Passes bytes on: reads some bytes, writes all of them, and only then reads again. In contrast, `copy` continues to read
/// while it cannot write. If a read fails then, `copy` loses the bytes that it has read before.
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

pub(super) async fn pass(stream: Box<dyn DialedStream>, far: UnixStream, fault: Fault) {
    let (mut from_server, mut to_server) = split(stream);
    let (mut from_us, mut to_us) = far.into_split();
    // After a panic, this guard is dropped before `to_us`. So the fault is set before our end of the socket pair finds that
    // the connection has ended.
    let _panicking = Panicking(&fault);
    let mut replies = pin!(forward(&mut from_server, &mut to_us));
    let ended = {
        let mut requests = pin!(copy(&mut from_us, &mut to_server));
        poll_fn(|cx| {
            if let Poll::Ready(end) = replies.as_mut().poll(cx) {
                return Poll::Ready(Ended::Replies(end));
            }
            requests.as_mut().poll(cx).map(Ended::Requests)
        })
        .await
    };
    let error = match ended {
        Ended::Replies(end) => end.err(),
        Ended::Requests(Ok(_)) => {
            // Our end has closed the connection.
            let _ = timeout(LAST_WORDS, to_server.shutdown()).await;
            None
        }
        // The server may have sent the reason before it closed the connection.
        Ended::Requests(Err(error)) => match timeout(LAST_WORDS, replies).await {
            Ok(end) => end.err(),
            Err(_) => Some(error),
        },
    };
    fault.set(error);
}
