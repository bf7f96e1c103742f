//! Between the user's write and the server: holds back each statement until its turn.

use std::io;
use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::error::Who;
use super::run::Run;
use super::server::Url;
use super::wire::{Message, Units};

/// Serves the connections of a writer, until it is dropped.
pub(super) async fn serve(run: Arc<Run>, who: Who, listener: TcpListener, url: Arc<Url>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (run, url) = (run.clone(), url.clone());
        connections.spawn(async move {
            let at = run.opened(who);
            let _ = relay(&run, at, client, &url).await;
            run.closed(at);
        });
    }
}

async fn relay(run: &Run, at: usize, mut client: TcpStream, url: &Url) -> io::Result<()> {
    client.set_nodelay(true)?;
    let first = loop {
        let first = Message::read_first(&mut client).await?;
        match first.0.get(4..) {
            // Neither TLS nor GSSAPI: the statements have to be read.
            Some([4, 210, 22, 47 | 48]) => client.write_all(b"N").await?,
            _ => break first,
        }
    };
    let mut server = url.connect().await?;
    server.write_all(&first.0).await?;
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (mut from_client, mut to_client) = client.into_split();
    let requests = async {
        let mut units = Units::default();
        loop {
            let unit = units.next(&mut from_client).await?;
            let answered = run.turn(at, unit.statement, unit.answer).await;
            to_server.write_all(&unit.bytes).await?;
            let _ = answered.await;
        }
    };
    let answers = async {
        loop {
            let message = Message::read(&mut from_server).await?;
            run.received(at, &message);
            to_client.write_all(&message.0).await?;
        }
    };
    tokio::select! { end = requests => end, end = answers => end }
}
