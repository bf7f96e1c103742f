//! Dialers and streams that break their contract.

use std::future::{Future as _, pending, poll_fn, ready};
use std::io::{self, ErrorKind, Write as _};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadBuf, duplex,
};
use tokio::time::timeout;

use auto_mutex_core::store::Dialer;
use auto_mutex_core::store::socket::MOST_CALLS;

use super::super::socket::Socket;
use crate::wire::limits::Limits;

const LONG: Duration = Duration::from_secs(60);

async fn connect(dialer: &Dialer) -> io::Result<Socket> {
    let connecting = Socket::connect("host", 7, Some(dialer), Limits::new(LONG, LONG));
    timeout(LONG, connecting).await.unwrap()
}

/// Returns our end of a dialed stream, and the other end of the program's stream.
async fn pair() -> (Socket, DuplexStream) {
    let (sender, streams) = mpsc::channel();
    let dialer = Dialer::new(move |host, port| {
        assert_eq!((host.as_str(), port), ("host", 7));
        let (near, far) = duplex(1000);
        sender.send(far).unwrap();
        ready(Ok(near))
    });
    let socket = connect(&dialer).await.unwrap();
    (socket, streams.recv().unwrap())
}

#[derive(Clone, Copy)]
enum Trouble {
    Reading,
    Writing,
    Panic,
}

/// A stream that delivers data from the server, and then fails. Our end must return the data before the failure.
struct Troubled {
    last_words: &'static [u8],
    trouble: Trouble,
    writes: bool,
}

impl AsyncRead for Troubled {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.trouble {
            Trouble::Writing if !self.writes => return Poll::Pending,
            _ if !self.last_words.is_empty() => {
                buffer.put_slice(self.last_words);
                self.last_words = b"";
            }
            Trouble::Reading => return Poll::Ready(Err(io::Error::other("as told"))),
            Trouble::Panic => panic!("as told"),
            Trouble::Writing => {}
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Troubled {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes = true;
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

async fn troubled(trouble: Trouble) -> Socket {
    let dialer = Dialer::new(move |_, _| {
        ready(Ok(Troubled {
            last_words: b"last words",
            trouble,
            writes: false,
        }))
    });
    connect(&dialer).await.unwrap()
}

async fn read(socket: &Socket) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; 5000];
    let reading = poll_fn(|cx| socket.poll_read(cx, &mut buffer));
    let count = timeout(LONG, reading).await.unwrap()?;
    buffer.truncate(count);
    Ok(buffer)
}

async fn write_all(mut socket: &Socket, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let ready = timeout(LONG, poll_fn(|cx| socket.poll_write_ready(cx)));
        ready.await.unwrap()?;
        match socket.write(bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads all data; returns it with how the data ended.
async fn read_all(socket: Socket) -> (Vec<u8>, io::Result<()>) {
    let mut found = Vec::new();
    loop {
        match read(&socket).await {
            Ok(more) if more.is_empty() => return (found, Ok(())),
            Ok(more) => found.extend(more),
            Err(error) => return (found, Err(error)),
        }
    }
}

#[tokio::test]
async fn bytes_go_both_ways_and_the_end_is_passed_on() {
    const LENGTH: usize = 1 << 20;
    let (socket, stream) = pair().await;
    let echo = tokio::spawn(async move {
        let (mut reading, mut writing) = tokio::io::split(stream);
        tokio::io::copy(&mut reading, &mut writing).await
    });
    let sent: Vec<u8> = (0..LENGTH).map(|at| (at % 251) as u8).collect();
    let mut found = Vec::new();
    let reading = async {
        while found.len() < LENGTH {
            found.extend(read(&socket).await.unwrap());
        }
    };
    let ((), written) = tokio::join!(reading, write_all(&socket, &sent));
    written.unwrap();
    assert!(found == sent);
    drop(socket);
    // The program's stream has been closed too.
    timeout(LONG, echo).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_closes_is_read_to_its_end() {
    let (socket, mut stream) = pair().await;
    stream.write_all(b"last words").await.unwrap();
    drop(stream);
    let (found, end) = read_all(socket).await;
    assert_eq!(found, b"last words");
    end.unwrap();
}

#[tokio::test]
async fn an_end_of_our_own_making_is_no_fault_of_the_stream() {
    let (socket, _stream) = pair().await;
    socket.close();
    let (found, end) = read_all(socket).await;
    assert_eq!(found, b"");
    end.unwrap();
}

#[tokio::test]
async fn an_error_of_the_stream_is_told_after_what_came_before_it() {
    for (trouble, expected) in [
        (Trouble::Reading, "as told"),
        (Trouble::Panic, "the dialer's stream panicked"),
    ] {
        let (found, end) = read_all(troubled(trouble).await).await;
        assert_eq!(found, b"last words");
        assert_eq!(end.unwrap_err().to_string(), expected);
    }
}

#[tokio::test]
async fn the_reason_that_a_server_gave_outlives_a_failed_write() {
    let socket = troubled(Trouble::Writing).await;
    write_all(&socket, b"question").await.unwrap();
    let (found, end) = read_all(socket).await;
    assert_eq!(found, b"last words");
    end.unwrap();
}

#[tokio::test]
async fn an_error_or_a_panic_of_a_dialer_is_told() {
    let fails = Dialer::new(|_, _| ready(io::Result::<DuplexStream>::Err(io::Error::other("no"))));
    assert_eq!(connect(&fails).await.unwrap_err().to_string(), "no");
    let panics =
        Dialer::new(|_, _| -> std::future::Ready<io::Result<DuplexStream>> { panic!("as told") });
    let error = connect(&panics).await.unwrap_err();
    assert_eq!(error.to_string(), "the dialer panicked");
}

/// A value that reports when it is dropped.
struct Told(mpsc::Sender<()>);

impl Drop for Told {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Starts a call of the dialer, and drops it once the dialer runs.
async fn give_up(dialer: &Dialer, called: &mpsc::Receiver<()>) {
    let mut connecting = pin!(connect(dialer));
    poll_fn(|cx| {
        assert!(connecting.as_mut().poll(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    called.recv_timeout(LONG).unwrap();
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_dropped() {
    let (sender, dropped) = mpsc::channel();
    let (calls, called) = mpsc::channel();
    let dialer = Dialer::new(move |_, _| {
        let (told, calls) = (Told(sender.clone()), calls.clone());
        async move {
            let _told = told;
            calls.send(()).unwrap();
            pending::<io::Result<DuplexStream>>().await
        }
    });
    give_up(&dialer, &called).await;
    dropped.recv_timeout(LONG).unwrap();
}

#[tokio::test]
async fn a_call_has_a_limit() {
    let hangs = Dialer::new(|_, _| pending::<io::Result<DuplexStream>>());
    let limits = Limits::new(LONG, Duration::from_millis(1));
    let connecting = Socket::connect("host", 7, Some(&hangs), limits).await;
    let error = connecting.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert!(error.to_string().contains("the dialer"), "{error}");
}

#[tokio::test]
async fn a_dialer_that_blocks_holds_up_no_other_and_takes_no_more_than_so_many_threads() {
    let (go_on, blocked) = mpsc::channel::<()>();
    let (calls, called) = mpsc::channel();
    let blocked = std::sync::Mutex::new(blocked);
    let blocks = Dialer::new(move |_, _| {
        calls.send(()).unwrap();
        let _ = blocked.lock().unwrap().recv();
        ready(io::Result::<DuplexStream>::Err(io::ErrorKind::Other.into()))
    });
    for _ in 1..MOST_CALLS {
        give_up(&blocks, &called).await;
    }
    let (socket, mut stream) = pair().await;
    write_all(&socket, b"x").await.unwrap();
    let read = timeout(LONG, stream.read_u8()).await.unwrap();
    assert_eq!(read.unwrap(), b'x');
    // If the call made by `pair` is still running, no further call is allowed. If it has ended, one is.
    let mut waiting = Vec::new();
    let error = loop {
        let mut connecting = Box::pin(connect(&blocks));
        let polled = poll_fn(|cx| Poll::Ready(connecting.as_mut().poll(cx))).await;
        match polled {
            Poll::Ready(done) => break done.unwrap_err(),
            Poll::Pending => waiting.push(connecting),
        }
        assert!(waiting.len() < 3);
    };
    assert!(
        error.to_string().contains("must not block forever"),
        "{error}"
    );
    drop(go_on);
}
