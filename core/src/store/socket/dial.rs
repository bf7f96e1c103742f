//! Opens a TCP connection to whichever address of a host answers first.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;

/// The kernel's keepalive detects a dead peer while the connection's watchdog does not run.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Also ends connections whose peer does not read, such as a stalled server, so it equals the watchdog's longest wait.
#[cfg(any(target_os = "android", target_os = "linux"))]
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Connects to a server.
pub async fn dial(host: &str, port: u16) -> io::Result<TcpStream> {
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

/// Connects to all addresses at once, because some may be dead. Returns the first connection.
async fn fastest(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    for address in addresses {
        attempts.spawn(TcpStream::connect(address));
    }
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    while let Some(attempt) = attempts.join_next().await {
        match attempt {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_zone_of_an_ipv6_address_is_kept() {
        let mut found = lookup_host(("fe80::1%1", 7)).await.unwrap();
        let Some(SocketAddr::V6(address)) = found.next() else {
            panic!("no address of IPv6");
        };
        assert_eq!((address.scope_id(), address.port()), (1, 7));
        assert_eq!(address.ip().to_string(), "fe80::1");
    }
}
