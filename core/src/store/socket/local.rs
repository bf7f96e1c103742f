//! Connections to socket files. They are Unix sockets, with the type of a TCP socket: only the options differ.

use std::io;
use std::path::Path;

use tokio::net::TcpStream;

/// Connects to a socket file.
#[cfg(unix)]
pub async fn local(path: &Path) -> io::Result<TcpStream> {
    use std::os::fd::OwnedFd;

    let stream = tokio::net::UnixStream::connect(path).await?.into_std()?;
    TcpStream::from_std(OwnedFd::from(stream).into())
}

/// Connects to a socket file.
#[cfg(not(unix))]
pub async fn local(_: &Path) -> io::Result<TcpStream> {
    let text = "this system cannot open a socket file: use the TCP port of the server";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}
