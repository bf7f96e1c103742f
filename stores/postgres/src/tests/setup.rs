//! Servers that a client cannot use, and why.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command};
use std::time::Duration;

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{StoreOptions, with_sources};

use super::peer::{Peer, engine, options};
use super::server::{Server, shared};

#[tokio::test]
async fn a_socket_file_will_do() {
    let server = shared();
    let database = server.database().await;
    let url = format!("/{database}?user=test&{}", server.socket());
    let mut peer = Peer::new(&url).await;
    peer.works().await;
    peer.end().await;
}

#[tokio::test]
async fn a_missing_database_is_not_named_and_a_missing_user_is() {
    let server = shared();
    let error = Peer::open(&server.url("canary")).await.err().unwrap();
    assert!(matches!(error, SetupError::Unsuitable { .. }), "{error:?}");
    assert!(!with_sources(&error).contains("canary"));
    let url = format!("canary@127.0.0.1:{}/postgres", server.port);
    let error = Peer::open(&url).await.err().unwrap();
    assert!(
        matches!(error, SetupError::Authentication { .. }),
        "{error:?}"
    );
    assert!(
        with_sources(&error).contains(r#"role "canary""#),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_password_may_be_in_a_file() {
    let server = Server::start();
    let admin = server.admin("postgres").await;
    let create = "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'a:word'";
    admin.batch_execute(create).await.unwrap();
    let rules = "local all all trust\nhost all test all trust\nhost all all all scram-sha-256\n";
    fs::write(server.dir.path().join("data/pg_hba.conf"), rules).unwrap();
    admin
        .batch_execute("SELECT pg_reload_conf()")
        .await
        .unwrap();
    let file = server.dir.path().join("pass");
    let line = format!("127.0.0.1:{}:*:app:a\\:word\n", server.port);
    fs::write(&file, line).unwrap();
    let url = |user: &str, query: &str| format!("{user}@127.0.0.1:{}/postgres{query}", server.port);
    let in_file = url("app", &format!("?passfile={}", file.display()));
    // The new rules apply a moment later.
    let wrong = loop {
        match Peer::open(&url("app:canary", "")).await {
            Ok(peer) => peer.end().await,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(wrong, SetupError::Authentication { .. }),
        "{wrong:?}"
    );
    assert!(!with_sources(&wrong).contains("canary"));
    let missing = Peer::open(&url("app", "?passfile=/dev/null"))
        .await
        .err()
        .unwrap();
    assert!(
        matches!(missing, SetupError::Authentication { .. }),
        "{missing:?}"
    );
    // Others may read it.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(Peer::open(&in_file).await.is_err());
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    for url in [in_file, url("app:a%3Aword", "")] {
        let mut peer = Peer::new(&url).await;
        peer.works().await;
        peer.end().await;
    }
}

#[tokio::test]
async fn nobody_listens_at_the_port() {
    let options = StoreOptions {
        connect_timeout: Duration::from_secs(1),
        ..options()
    };
    for hosts in ["u@127.0.0.1:1/db", "u@127.0.0.1:1,127.0.0.1:2/db"] {
        let (_store, mut driver) =
            engine(hosts).unconnected(&options, auto_mutex_core::store::MemberId::random());
        let error = driver.open(options.connect_timeout).await.unwrap_err();
        assert!(matches!(error, SetupError::Unreachable { .. }), "{error:?}");
        assert!(error.is_transient());
    }
}

#[test]
fn what_needs_locks_on_standbys_is_refused() {
    let engine = engine("u@h/db");
    let trusting = StoreOptions {
        trust_failover: true,
        ..options()
    };
    assert_eq!(engine.check(&trusting).unwrap_err().0, "trust_failover");
    assert!(engine.check(&options()).is_ok());
}

/// pgbouncer, killed when dropped.
struct Pooler(Child);

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pooler(server: &Server, mode: &str) -> Option<(Pooler, u16)> {
    let program = "/usr/sbin/pgbouncer";
    fs::metadata(program).ok()?;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let dir = server.dir.path();
    let users = dir.join(format!("users-{mode}"));
    fs::write(&users, "\"test\" \"\"\n").unwrap();
    let text = format!(
        "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
         auth_type = trust\nauth_file = {}\npool_mode = {mode}\nunix_socket_dir =\nlogfile = {}\n",
        server.port,
        users.display(),
        dir.join("pooler.log").display()
    );
    let file = dir.join(format!("pooler-{mode}.ini"));
    fs::write(&file, text).unwrap();
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=nobody",
        "--regid=nogroup",
        "--clear-groups",
        program,
        "-q",
    ]);
    let pooler = Pooler(command.arg(&file).spawn().unwrap());
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        std::thread::sleep(Duration::from_millis(20));
    }
    Some((pooler, port))
}

#[tokio::test]
async fn a_pooler_is_found_out_and_the_cures_work() {
    let server = shared();
    let database = server.database().await;
    let Some((_pooler, port)) = pooler(server, "transaction") else {
        eprintln!("pgbouncer is not installed");
        return;
    };
    let url = format!("test@127.0.0.1:{port}/{database}");
    let error = Peer::open(&url).await.err().unwrap().to_string();
    assert!(error.contains("a pooler is in front of it"), "{error}");
    assert!(error.contains("`poll=200ms`"), "{error}");
    let mut peer = Peer::new(&format!("{url}?poll=200ms")).await;
    peer.works().await;
    peer.end().await;
    let direct = format!("postgres://{}", server.url(&database));
    let direct = direct.replace(':', "%3A").replace('/', "%2F");
    let mut peer = Peer::new(&format!("{url}?listen_url={direct}")).await;
    peer.works().await;
    peer.end().await;
    let other = format!("postgres://{}", server.url("postgres"));
    let other = other.replace(':', "%3A").replace('/', "%2F");
    let error = Peer::open(&format!("{url}?listen_url={other}"))
        .await
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("another server or database"),
        "{error}"
    );
    // The listener itself may not be behind a pooler.
    let pooled = format!("postgres://{url}")
        .replace(':', "%3A")
        .replace('/', "%2F");
    let error = Peer::open(&format!("{url}?listen_url={pooled}"))
        .await
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("a pooler is in front of it"),
        "{error}"
    );
}
