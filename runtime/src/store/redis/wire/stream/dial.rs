//! A TCP connection, to whichever address of a host answers first.

use std::future::{Future as _, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};

/// A dead peer is noticed by the watchdog of a link; these help where it cannot look: in the kernel.
const KEEPALIVE: Duration = Duration::from_secs(10);
#[cfg(any(target_os = "android", target_os = "linux"))]
const USER_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects.
pub(super) async fn dial(host: &str, port: u16) -> io::Result<TcpStream> {
    let found = lookup_host((host, port)).await?;
    let stream = fastest(found).await?;
    stream.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE)
        .with_interval(KEEPALIVE);
    let socket = SockRef::from(&stream);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(any(target_os = "android", target_os = "linux"))]
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(stream)
}

/// Of several addresses the one that answers first; a host may have some that nobody listens on.
async fn fastest(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts: Vec<_> = addresses
        .map(|address| Box::pin(TcpStream::connect(address)))
        .collect();
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    poll_fn(move |cx| {
        let mut index = 0;
        while let Some(attempt) = attempts.get_mut(index) {
            match attempt.as_mut().poll(cx) {
                Poll::Ready(Ok(stream)) => return Poll::Ready(Ok(stream)),
                Poll::Ready(Err(error)) => {
                    drop(attempts.swap_remove(index));
                    last = error;
                }
                Poll::Pending => index += 1,
            }
        }
        if attempts.is_empty() {
            let last = std::mem::replace(&mut last, io::ErrorKind::AddrNotAvailable.into());
            return Poll::Ready(Err(last));
        }
        Poll::Pending
    })
    .await
}
