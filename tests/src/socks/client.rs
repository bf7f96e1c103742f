//! The client's side of SOCKS5, for a program that connects through a proxy.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{CONNECT, GRANTED, NAME, NO_LOGIN, VERSION};

/// Connects to a host through the proxy at port `proxy` of 127.0.0.1. The proxy resolves the host name.
pub async fn connect(proxy: u16, host: String, port: u16) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", proxy)).await?;
    stream.set_nodelay(true)?;
    stream.write_all(&[VERSION, 1, NO_LOGIN]).await?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await?;
    let length = u8::try_from(host.len()).map_err(io::Error::other)?;
    let mut request = vec![VERSION, CONNECT, 0, NAME, length];
    request.extend(host.as_bytes());
    request.extend(port.to_be_bytes());
    stream.write_all(&request).await?;
    let mut answer = [0; 10];
    stream.read_exact(&mut answer).await?;
    match answer[1] {
        GRANTED => Ok(stream),
        code => Err(io::Error::other(format!("the proxy refuses: code {code}"))),
    }
}
