//! Between a write and the server: holds back each statement until its turn.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::Who;
use super::run::Run;
use super::server::Url;

/// Serves the connections of a writer, until it is dropped.
pub(super) async fn serve(run: Arc<Run>, who: Who, listener: TcpListener, url: Arc<Url>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (run, url) = (run.clone(), url.clone());
        connections.spawn(async move { relay(&run, who, client, &url).await });
    }
}

async fn relay(run: &Run, who: Who, mut client: TcpStream, url: &Url) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut first = rest(&mut client, Vec::new()).await?;
    // Neither TLS nor GSSAPI: the statements have to be read.
    while let [_, _, _, _, 4, 210, 22, 47 | 48] = first[..] {
        client.write_all(b"N").await?;
        first = rest(&mut client, Vec::new()).await?;
    }
    let mut server = url.connect().await?;
    server.write_all(&first).await?;
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (mut from_client, mut to_client) = client.into_split();
    let (at, answered) = (run.opened(who), Notify::new());
    let requests = async {
        let mut statements = Statements::default();
        loop {
            let batch = statements.next(&mut from_client).await?;
            run.turn(at, batch.statement, batch.is_answered).await;
            to_server.write_all(&batch.bytes).await?;
            if batch.is_answered {
                answered.notified().await;
            }
        }
    };
    let answers = async {
        loop {
            let message = message(&mut from_server).await?;
            if run.received(at, &message) {
                answered.notify_one();
            }
            to_client.write_all(&message).await?;
        }
    };
    tokio::select! { end = requests => end, end = answers => end }
}

/// Reads a message of the protocol: its kind, its length, which is its own part, and texts that end with a zero.
async fn message(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let kind = from.read_u8().await?;
    rest(from, vec![kind]).await
}

async fn rest(from: &mut (impl AsyncRead + Unpin), mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let length = from.read_u32().await?;
    bytes.extend(length.to_be_bytes());
    let end = bytes.len() + length.saturating_sub(4) as usize;
    let read = bytes.len();
    bytes.resize(end, 0);
    from.read_exact(&mut bytes[read..]).await?;
    Ok(bytes)
}

pub(super) fn texts(message: &[u8]) -> impl Iterator<Item = String> {
    let texts = message[5..].split(|byte| *byte == 0);
    texts.map(|text| String::from_utf8_lossy(text).into_owned())
}

/// What a driver sends before it waits for the server's answer, or a message that gets none.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    statement: Option<String>,
    is_answered: bool,
}

/// The prepared statements of a connection.
#[derive(Default)]
struct Statements {
    by_name: HashMap<String, String>,
    bound: String,
}

impl Statements {
    async fn next(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<Batch> {
        let mut batch = Batch::default();
        loop {
            let message = message(from).await?;
            let mut texts = texts(&message);
            let mut text = || texts.next().unwrap_or_default();
            let kind = message[0];
            let statement = match kind {
                b'P' => {
                    self.by_name.insert(text(), text());
                    None
                }
                b'B' => {
                    let (_portal, name) = (text(), text());
                    self.bound = self.by_name.get(&name).cloned().unwrap_or(name);
                    None
                }
                b'E' => Some(self.bound.clone()),
                b'Q' => Some(text()),
                // An answer to a `Flush` has no end.
                b'H' if batch.statement.is_some() => return Err(io::ErrorKind::Unsupported.into()),
                _ => None,
            };
            let all = batch.statement.take().into_iter().chain(statement);
            batch.statement = all.reduce(|all, statement| format!("{all}; {statement}"));
            batch.bytes.extend(&message);
            if !matches!(kind, b'P' | b'B' | b'D' | b'C' | b'E') {
                batch.is_answered = matches!(kind, b'Q' | b'S');
                return Ok(batch);
            }
        }
    }
}
