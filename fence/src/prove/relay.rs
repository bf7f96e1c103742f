//! Between a write and the server: asks before each batch of statements, and reports its end.

use std::collections::HashMap;
use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use super::server::Url;

/// What a connection of a writer does. Its name is the server's process.
pub(super) enum Event {
    /// It would like to send something, such as this statement.
    Asks(Option<String>, oneshot::Sender<()>),
    /// The server has answered, or the connection has ended. Whether no transaction is open any more.
    Answered(String, bool),
    /// The write has returned.
    Returned(Result<(), String>),
}

/// Which writer's connection, and its process.
pub(super) type Report = (usize, i32, Event);

/// Serves a connection of `who`.
pub(super) async fn serve(who: usize, client: TcpStream, url: Url, to: UnboundedSender<Report>) {
    let mut process = 0;
    let report = |process, event| drop(to.send((who, process, event)));
    let _ = relay(client, &url, &mut process, report).await;
    let ends = "error: the connection ends".to_owned();
    report(process, Event::Answered(ends, true));
}

async fn relay(
    mut client: TcpStream,
    url: &Url,
    process: &mut i32,
    report: impl Fn(i32, Event),
) -> io::Result<()> {
    client.set_nodelay(true)?;
    let mut server = url.connect().await?;
    let first = rest(&mut client, Vec::new()).await?;
    server.write_all(&first).await?;
    let mut batch = Batch::default();
    loop {
        // A driver may go on before the end of an answer: it gets all of it, once it is reported.
        let (mut answer, mut outcome, mut is_last) = (Vec::new(), String::new(), false);
        let mut is_committed = false;
        while !is_last {
            let Ok(message) = message(&mut server).await else {
                return client.write_all(&answer).await;
            };
            match message[..] {
                [b'K', _, _, _, _, a, b, c, d, ..] => *process = i32::from_be_bytes([a, b, c, d]),
                [b'C', ..] => outcome = texts(&message).next().unwrap_or_default(),
                [b'E', ..] => {
                    let text = texts(&message).find(|field| field.starts_with('M'));
                    outcome = text.unwrap_or_default().replacen('M', "error: ", 1);
                }
                [b'Z', _, _, _, _, status, ..] => (is_last, is_committed) = (true, status == b'I'),
                // A login takes more than one answer; `COPY` goes on with data.
                [b'R', _, _, _, _, 0, 0, 0, 3..=11, ..] | [b'G', ..] => is_last = true,
                _ => {}
            }
            answer.extend(message);
        }
        report(*process, Event::Answered(outcome, is_committed));
        client.write_all(&answer).await?;
        while is_last {
            batch.read(&mut client).await?;
            is_last = !batch.is_answered;
            if batch.is_answered && *process != 0 {
                let (go, gone) = oneshot::channel();
                report(*process, Event::Asks(batch.statement.take(), go));
                gone.await.map_err(io::Error::other)?;
            }
            server.write_all(&batch.bytes).await?;
        }
    }
}

/// Reads a message: its kind, its length, which counts itself, and often texts that end with a zero.
async fn message(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let kind = vec![from.read_u8().await?];
    rest(from, kind).await
}

async fn rest(from: &mut (impl AsyncRead + Unpin), mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    let (begin, length) = (bytes.len(), from.read_u32().await?);
    bytes.extend(length.to_be_bytes());
    bytes.resize(begin + length as usize, 0);
    from.read_exact(&mut bytes[begin + 4..]).await?;
    Ok(bytes)
}

fn texts(message: &[u8]) -> impl Iterator<Item = String> {
    let texts = message[5..].split(|byte| *byte == 0);
    texts.map(|text| String::from_utf8_lossy(text).into_owned())
}

/// What a driver sends before it waits for an answer, or a message that gets none.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    statement: Option<String>,
    is_answered: bool,
    /// The prepared statements of the connection, and the one that was bound last.
    prepared: HashMap<String, String>,
    bound: String,
    /// The last statement came without a `Sync`, and so will the end of its data.
    is_simple: bool,
}

impl Batch {
    async fn read(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        self.bytes.clear();
        loop {
            let message = message(from).await?;
            let mut texts = texts(&message);
            let mut text = || texts.next().unwrap_or_default();
            let kind = message[0];
            match kind {
                b'P' => drop(self.prepared.insert(text(), text())),
                // First comes the name of a portal.
                b'B' => {
                    let name = texts.nth(1).unwrap_or_default();
                    self.bound = self.prepared.get(&name).cloned().unwrap_or(name);
                }
                b'Q' => self.bound = text(),
                // The answer to a `Flush` has no end.
                b'H' if self.statement.is_some() => return Err(io::ErrorKind::Unsupported.into()),
                _ => {}
            }
            if matches!(kind, b'Q' | b'E') {
                self.is_simple = kind == b'Q';
                let before = self.statement.take().map(|before| before + "; ");
                self.statement = Some(before.unwrap_or_default() + &self.bound);
            }
            self.bytes.extend(&message);
            self.is_answered = matches!(kind, b'F' | b'Q' | b'S' | b'p');
            self.is_answered |= self.is_simple && matches!(kind, b'c' | b'f');
            if self.is_answered || !matches!(kind, b'P' | b'B' | b'D' | b'C' | b'E') {
                return Ok(());
            }
        }
    }
}
