//! [`Stream`]: a connection by TCP or a socket file, perhaps with TLS. Only this folder knows the kinds of sockets.

use std::io::{self, ErrorKind, Read as _};
use std::net::Shutdown;
use std::task::{Context, Poll, ready};

#[cfg(feature = "tls-no-provider")]
use auto_mutex_seam::store::{Mutex, lock};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::TcpStream;

#[cfg(feature = "tls-no-provider")]
use super::tls::{Session, Trust};

/// A connection. One task reads from it; any thread may write.
pub struct Stream {
    /// Also used for Unix sockets, which differ only in options that are set before.
    tcp: TcpStream,
    #[cfg(feature = "tls-no-provider")]
    tls: Option<Box<Mutex<Session>>>,
}

impl Stream {
    /// A connection without TLS.
    pub fn plain(tcp: TcpStream) -> Self {
        Self {
            tcp,
            #[cfg(feature = "tls-no-provider")]
            tls: None,
        }
    }

    /// Begins TLS on a connection.
    #[cfg(feature = "tls-no-provider")]
    pub async fn secure(tcp: TcpStream, trust: Trust) -> io::Result<Self> {
        let session = Session::begin(&tcp, trust).await?;
        let tls = Some(Box::new(Mutex::new(session)));
        Ok(Self { tcp, tls })
    }

    /// The server's certificate, with TLS.
    #[cfg(feature = "tls-no-provider")]
    pub fn certificate(&self) -> Option<Vec<u8>> {
        lock(self.tls.as_ref()?).certificate()
    }

    /// Reads at least one byte, unless the connection has ended.
    pub fn poll_read(&self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        #[cfg(feature = "tls-no-provider")]
        if let Some(session) = &self.tls {
            return lock(session).poll_read(&self.tcp, cx, buffer);
        }
        poll_read(&self.tcp, cx, buffer)
    }

    /// Adds the number of bytes that the socket took to `written`. The rest must be written next.
    pub fn write(&self, bytes: &[u8], written: &mut usize) -> io::Result<()> {
        while *written < bytes.len() {
            match self.try_write(&bytes[*written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => *written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes some bytes. After `WouldBlock`, the same bytes must be offered again.
    pub fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "tls-no-provider")]
        if let Some(session) = &self.tls {
            return lock(session).try_write(&self.tcp, bytes);
        }
        self.tcp.try_write(bytes)
    }

    /// Waits until the socket takes bytes.
    pub fn poll_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp.poll_write_ready(cx)
    }

    /// Closes these directions, even if other threads still use the socket.
    pub fn close(&self, directions: Shutdown) {
        let _ = SockRef::from(&self.tcp).shutdown(directions);
    }
}

/// Reads without TLS.
fn poll_read(tcp: &TcpStream, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
    loop {
        ready!(tcp.poll_read_ready(cx))?;
        let mut short = None;
        let read = tcp.try_io(Interest::READABLE, || {
            let count = (&*SockRef::from(tcp)).read(buffer)?;
            if count > 0 && count < buffer.len() {
                // A short read has emptied the socket. Telling tokio avoids another read to find out.
                short = Some(count);
                return Err(ErrorKind::WouldBlock.into());
            }
            Ok(count)
        });
        match short.map_or(read, Ok) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => return Poll::Ready(read),
        }
    }
}
