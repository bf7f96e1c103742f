//! Sockets, for engines that connect to servers: TCP, socket files, and what TLS needs.

mod stream;
#[cfg(feature = "tls-no-provider")]
mod tls;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;

pub use self::stream::Stream;
#[cfg(feature = "tls-no-provider")]
pub use self::tls::{Trust, Verifier, fault, of_handshake, trust, trust_of};

/// The kernel's keepalive detects a dead peer while the connection's watchdog does not run.
const KEEPALIVE: Duration = Duration::from_secs(10);
/// Also ends connections whose peer does not read, such as a stalled server, so it equals the watchdog's longest wait.
#[cfg(any(target_os = "android", target_os = "linux"))]
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// Connects to a server, by whichever address of the host answers first.
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

/// Connects to a socket file. This is a Unix socket with the type of a TCP socket: only the options differ.
#[cfg(unix)]
pub async fn local(path: &Path) -> io::Result<TcpStream> {
    let stream = tokio::net::UnixStream::connect(path).await?.into_std()?;
    TcpStream::from_std(std::os::fd::OwnedFd::from(stream).into())
}

/// Connects to a socket file.
#[cfg(not(unix))]
pub async fn local(_: &Path) -> io::Result<TcpStream> {
    let text = "this system cannot open a socket file: use the TCP port of the server";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// The files of TLS, and the name that the server must have.
#[allow(
    unpredictable_function_pointer_comparisons,
    reason = "only different modes differ"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// The trusted authorities; `None` for those of the system.
    pub ca: Option<PathBuf>,
    /// The client's certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name required in the server's certificate; `None` for the host in the address.
    pub server_name: Option<String>,
    /// Checks the server's certificate in place of the usual verifier.
    #[cfg(feature = "tls-no-provider")]
    pub verifier: Option<Verifier>,
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
