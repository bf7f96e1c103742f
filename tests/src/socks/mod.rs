//! A SOCKS5 proxy (RFC 1928, without logins) to the servers of this machine, and the client's side of the protocol.
//!
//! Only the proxy knows the hosts under `.test`, all of which are this machine. A connection to one of them must have
//! come through the proxy.

mod client;

use std::collections::BTreeSet;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

pub use client::connect;

use crate::redis::Redis;

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const CONNECT: u8 = 1;
/// The address type for a host name, which is sent after its length.
const NAME: u8 = 3;
const GRANTED: u8 = 0;
const HOST_UNREACHABLE: u8 = 4;

/// A SOCKS5 proxy; its connections end when it is dropped.
pub struct Socks {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    ended: AtomicBool,
}

#[derive(Default)]
struct State {
    sockets: Vec<TcpStream>,
    /// The local ports of the connections to servers.
    origins: BTreeSet<u16>,
    asked: Vec<String>,
}

impl Socks {
    /// Starts a proxy.
    #[expect(clippy::new_without_default, reason = "listens on a port")]
    pub fn new() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        let shared = Arc::new(Shared::default());
        thread::spawn({
            let shared = shared.clone();
            move || shared.accept(&listener)
        });
        Self { port, shared }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Cuts all existing connections.
    pub fn cut(&self) {
        for socket in std::mem::take(&mut self.shared.state().sockets) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// The addresses to which clients asked for connections, in order: `host:port`.
    pub fn asked(&self) -> Vec<String> {
        self.shared.state().asked.clone()
    }

    /// Whether the library has connections to this server, and all of them came through this proxy.
    pub fn carries_all(&self, server: &Redis) -> bool {
        let clients = server.command(&["CLIENT", "LIST"]);
        let ours = clients.text().lines();
        let mut ours = ours
            .filter(|line| line.contains(" name=auto_mutex:"))
            .peekable();
        let state = self.shared.state();
        ours.peek().is_some() && ours.all(|line| state.origins.contains(&origin(line)))
    }
}

/// The port that a client connects from, in its line of `CLIENT LIST`.
fn origin(line: &str) -> u16 {
    let address = line.split(' ').find_map(|word| word.strip_prefix("addr="));
    let port = address.and_then(|address| address.rsplit_once(':'));
    port.and_then(|(_, port)| port.parse().ok())
        .expect("a client's address")
}

impl Drop for Socks {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.cut();
        // Wakes the thread that accepts, so that it ends too.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        while let Ok((client, _)) = listener.accept() {
            if self.ended.load(Ordering::Acquire) {
                return;
            }
            let shared = self.clone();
            // If a client breaks the protocol, its connection is closed.
            thread::spawn(move || shared.serve(client));
        }
    }

    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let [_, methods] = read(&mut client)?;
        client.read_exact(&mut vec![0; methods.into()])?;
        client.write_all(&[VERSION, NO_LOGIN])?;
        let [VERSION, CONNECT, _, NAME, length] = read(&mut client)? else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut host = vec![0; length.into()];
        client.read_exact(&mut host)?;
        let host = String::from_utf8_lossy(&host).into_owned();
        let port = u16::from_be_bytes(read(&mut client)?);
        self.state().asked.push(format!("{host}:{port}"));
        let known = if host.ends_with(".test") {
            "127.0.0.1"
        } else {
            &host
        };
        let server = TcpStream::connect((known, port));
        let code = server.as_ref().map_or(HOST_UNREACHABLE, |_| GRANTED);
        client.write_all(&[VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0])?;
        self.pass_on(client, server?)
    }

    fn pass_on(&self, client: TcpStream, server: TcpStream) -> io::Result<()> {
        {
            let mut state = self.state();
            state.origins.insert(server.local_addr()?.port());
            state.sockets.push(client.try_clone()?);
            state.sockets.push(server.try_clone()?);
        }
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let back = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || copy(back.0, back.1));
        copy(client, server);
        Ok(())
    }
}

/// Copies bytes until either connection ends, and then closes both.
fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

fn read<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}
