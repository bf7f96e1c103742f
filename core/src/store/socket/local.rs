//! Connections inside this machine: socket files, and pairs of sockets. On Unix, they are Unix sockets, with the type of a TCP
//! socket: only the options differ.

use std::io;
use std::net::TcpStream;
use std::path::Path;

#[cfg(unix)]
mod system {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    /// Connects to a socket file. The socket is in nonblocking mode.
    pub async fn connect(path: &Path) -> io::Result<TcpStream> {
        let stream = tokio::net::UnixStream::connect(path).await?.into_std()?;
        Ok(OwnedFd::from(stream).into())
    }

    pub(in super::super) fn pair() -> io::Result<(TcpStream, TcpStream)> {
        let (near, far) = UnixStream::pair()?;
        Ok((OwnedFd::from(near).into(), OwnedFd::from(far).into()))
    }
}

#[cfg(not(unix))]
mod system {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    /// Connects to a socket file. The socket is in nonblocking mode.
    pub async fn connect(_: &Path) -> io::Result<TcpStream> {
        let text = "this system cannot open a socket file: use the TCP port of the server";
        Err(io::Error::new(io::ErrorKind::Unsupported, text))
    }

    pub(in super::super) fn pair() -> io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        loop {
            // Another program of this machine may connect first.
            let (far, peer) = listener.accept()?;
            if peer == near.local_addr()? {
                return Ok((near, far));
            }
        }
    }
}

pub use system::connect;
pub(super) use system::pair;
