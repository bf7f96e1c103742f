//! A relay between member and server that can also send its own bytes to the member.

use auto_mutex_seam::store::RandomId;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Mutex;
use std::thread;

use tempfile::TempDir;

use super::super::server::endpoint;
use super::*;

/// Forwards bytes in both directions; those from the server in pieces whose size the test sets.
pub(super) struct Relay {
    directory: TempDir,
    member: Arc<Mutex<Option<UnixStream>>>,
    /// All bytes that the member has sent so far.
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Relay {
    pub(super) fn new(server: &Server, size: usize) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join("socket")).unwrap();
        let target = server.socket();
        let member = Arc::new(Mutex::new(None));
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (latest, said) = (member.clone(), heard.clone());
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                // Connecting fails if the test is over and its server has ended.
                let Ok(server) = UnixStream::connect(&target) else {
                    return;
                };
                *latest.lock().unwrap() = Some(client.try_clone().unwrap());
                let backwards = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let said = said.clone();
                let note = move |bytes: &[u8]| said.lock().unwrap().extend_from_slice(bytes);
                thread::spawn(move || pass(client, server, 65536, note));
                thread::spawn(move || pass(backwards.0, backwards.1, size, |_| {}));
            }
        });
        Self {
            directory,
            member,
            heard,
        }
    }

    /// Returns the positions of `text` in the bytes that the member has sent so far.
    pub(super) fn heard(&self, text: &str) -> Vec<usize> {
        let heard = self.heard.lock().unwrap();
        let places = heard.windows(text.len()).enumerate();
        let places = places.filter(|(_, place)| *place == text.as_bytes());
        places.map(|(index, _)| index).collect()
    }

    /// Forgets the bytes that the member has sent.
    pub(super) fn forget(&self) {
        self.heard.lock().unwrap().clear();
    }

    /// Cuts the latest connection.
    pub(super) fn cut(&self) {
        let member = self.member.lock().unwrap();
        let _ = member.as_ref().unwrap().shutdown(std::net::Shutdown::Both);
    }

    pub(super) fn say(&self, bytes: &[u8]) {
        let mut member = self.member.lock().unwrap();
        member.as_mut().unwrap().write_all(bytes).unwrap();
    }

    pub(super) async fn peer(&self) -> Peer {
        let socket = self.directory.path().join("socket");
        Peer::at(&endpoint(&format!("unix://{}", socket.display()))).await
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, size: usize, note: impl Fn(&[u8])) {
    let mut buffer = vec![0; 65536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        note(&buffer[..count]);
        for piece in buffer[..count].chunks(size) {
            if to.write_all(piece).is_err() {
                return;
            }
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[tokio::test]
async fn replies_in_pieces_are_put_together() {
    let server = Server::start();
    let relay = Relay::new(&server, 1);
    let mut peer = relay.peer().await;
    let [first, second] = [Ticket::random(), Ticket::random()];
    let ids =
        [acquire(first), acquire(second), Op::Inspect { above: 0 }].map(|op| peer.submit("n", op));
    assert!(matches!(
        peer.answer(ids[0]).await,
        Ok(Reply::Granted { .. })
    ));
    assert!(matches!(
        peer.answer(ids[1]).await,
        Ok(Reply::Queued { .. })
    ));
    let info = peer.answer(ids[2]).await;
    assert!(matches!(info, Ok(Reply::Info(info)) if info.waiters.len() == 1));
    let (reply, told) = peer.ask_and_hear("n", release(first)).await;
    assert_eq!(reply, Reply::Released { free: 0 });
    assert!(matches!(told, Message::Grant { ticket, .. } if ticket == second));
    peer.end().await;
}

#[tokio::test]
async fn a_server_that_talks_nonsense_is_left() {
    let server = Server::start();
    let relay = Relay::new(&server, 65536);
    let mut peer = relay.peer().await;
    let nonsense: [&[u8]; 5] = [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"+what nobody asked for\r\n",
        b"$99999999999\r\n",
        b"*99999999999\r\n",
        &b"*1\r\n".repeat(1000),
    ];
    for bytes in nonsense {
        relay.say(bytes);
        if bytes.starts_with(b"*1\r\n") {
            relay.say(b":1\r\n");
        }
        peer.lost().await;
        peer.back().await;
        peer.works().await;
    }
    peer.end().await;
}

#[tokio::test]
async fn what_a_server_pushes_unasked_is_ignored() {
    let server = Server::start();
    let relay = Relay::new(&server, 65536);
    let mut peer = relay.peer().await;
    let pushes: [&[u8]; 4] = [
        b">0\r\n",
        b">1\r\n_\r\n",
        b">2\r\n+invalidate\r\n*1\r\n+key\r\n",
        b">3\r\n+message\r\n+channel\r\n:1\r\n",
    ];
    for push in pushes {
        relay.say(push);
    }
    assert!(peer.ask("n", acquire(Ticket::random())).await.is_ok());
    peer.end().await;
}

#[tokio::test]
async fn connections_are_closed_by_the_one_who_leaves() {
    let server = Server::start();
    let relay = Relay::new(&server, 65536);
    let peer = relay.peer().await;
    let mut member = relay.member.lock().unwrap().take().unwrap();
    peer.end().await;
    // The member has closed its end of the connection, so this read ends.
    member.set_read_timeout(Some(LONG)).unwrap();
    let mut rest = Vec::new();
    member.read_to_end(&mut rest).unwrap();
}
