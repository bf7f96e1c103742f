//! A connection whose other end is gone without a word: the server takes it for alive.

use std::sync::Arc;

use auto_mutex_seam::store::Reply;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

use super::peer::{Peer, touch};
use super::real_time::real_time;
use super::server::{Server, shared};

/// Passes connections on to a server.
struct Relay {
    port: u16,
    cut: Arc<Notify>,
}

impl Relay {
    async fn to(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, to) = (listener.local_addr().unwrap().port(), server.port);
        let cut = Arc::new(Notify::new());
        let end = cut.clone();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut far = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let end = end.clone();
                tokio::spawn(async move {
                    tokio::select! {
                        _ = copy_bidirectional(&mut near, &mut far) => {}
                        // Both ends stay open, and nothing passes any more.
                        () = end.notified() => std::future::pending().await,
                    }
                });
            }
        });
        Self { port, cut }
    }

    /// From now on, no connection that is there now passes anything on.
    fn cut(&self) {
        self.cut.notify_waiters();
    }
}

/// The client comes back with its locks, whatever the server shows of its earlier connection.
async fn comes_back(setting: &str) {
    let server = shared();
    let database = server.database().await;
    let admin = server.admin(&database).await;
    admin.batch_execute(&crate::schema()).await.unwrap();
    let (login, group) = (format!("login_{database}"), format!("group_{database}"));
    let roles = format!("CREATE ROLE {group}; CREATE ROLE {login} LOGIN IN ROLE {group}");
    admin.batch_execute(&roles).await.unwrap();
    admin.batch_execute(&crate::grants(&group)).await.unwrap();
    if !setting.is_empty() {
        let setting = setting.replace("GROUP", &group);
        let alter = format!("ALTER ROLE {login} SET {setting}");
        admin.batch_execute(&alter).await.unwrap();
    }
    let relay = Relay::to(server).await;
    let url = format!("{login}@127.0.0.1:{}/{database}", relay.port);
    let mut peer = Peer::new(&url).await;
    let (held, token) = peer.holds("n").await;
    let pid = "SELECT pid FROM auto_mutex.members";
    let earlier: i32 = admin.query_one(pid, &[]).await.unwrap().get(0);
    relay.cut();
    peer.lost().await;
    assert!(peer.connected().await);
    let kept = peer.ask("n", touch(held, 2)).await.unwrap();
    let same = Reply::Granted {
        token,
        signal: None,
    };
    assert_eq!(kept, same, "{setting}");
    let there = "SELECT EXISTS (SELECT FROM pg_stat_get_activity($1))";
    while admin.query_one(there, &[&earlier]).await.unwrap().get(0) {
        tokio::task::yield_now().await;
    }
    peer.works().await;
    peer.end().await;
}

#[tokio::test]
async fn a_client_ends_its_own_dead_connection() {
    let _watch = real_time();
    tokio::join!(
        comes_back(""),
        comes_back("track_activities = off"),
        // The pattern of stores of secrets: each login works as the role that has the rights.
        comes_back("role = GROUP"),
    );
}
