//! Servers that a client cannot use, and why.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{
    Cause, Message, Mode, RandomId, Reply, StoreErrorKind, StoreOptions, Ticket, with_sources,
};

use tokio::task::LocalSet;

use super::peer::{Peer, acquire, engine, options, release, touch};
use super::real_time::real_time;
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
        with_sources(&error).contains("for the user `canary`"),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_wrong_or_missing_password_is_told() {
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
    let url = |user: &str| format!("{user}@127.0.0.1:{}/postgres", server.port);
    // The new rules apply a moment later.
    let wrong = loop {
        match Peer::open(&url("app:canary")).await {
            Ok(peer) => peer.end().await,
            Err(error) => break error,
        }
    };
    let missing = Peer::open(&url("app")).await.err().unwrap();
    for (error, said) in [(wrong, "is wrong"), (missing, "give it in the URL")] {
        assert!(
            matches!(error, SetupError::Authentication { .. }),
            "{error:?}"
        );
        let text = with_sources(&error);
        assert!(text.contains(said) && !text.contains("canary"), "{text}");
    }
    let mut peer = Peer::new(&url("app:a%3Aword")).await;
    peer.works().await;
    peer.end().await;
}

#[tokio::test]
async fn nobody_listens_at_the_port() {
    let _watch = real_time();
    let options = StoreOptions {
        connect_timeout: Duration::from_secs(1),
        ..options()
    };
    for hosts in ["u@127.0.0.1:1/db", "u@127.0.0.1:1,127.0.0.1:2/db"] {
        let (_store, mut driver) =
            engine(hosts).unconnected(&options, auto_mutex_seam::store::MemberId::random());
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
struct Pooler {
    child: Child,
    port: u16,
    settings: PathBuf,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Pooler {
    /// `None` if it is not installed.
    fn before(server: &Server, mode: &str) -> Option<Self> {
        fs::metadata(PGBOUNCER).ok()?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let dir = server.dir.path();
        let users = dir.join(format!("users-{mode}"));
        fs::write(&users, "\"test\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             auth_type = trust\nauth_file = {}\npool_mode = {mode}\nunix_socket_dir =\nlogfile = {}\n\
             server_login_retry = 0.2\n",
            server.port,
            users.display(),
            dir.join("pooler.log").display()
        );
        let settings = dir.join(format!("pooler-{mode}.ini"));
        fs::write(&settings, text).unwrap();
        Some(Self {
            child: Self::start(&settings, port),
            port,
            settings,
        })
    }

    fn start(settings: &Path, port: u16) -> Child {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
        let child = command.args([PGBOUNCER, "-q"]).arg(settings).spawn();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            std::thread::sleep(Duration::from_millis(20));
        }
        child.unwrap()
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn start_again(&mut self) {
        self.child = Self::start(&self.settings, self.port);
    }

    fn url(&self, database: &str) -> String {
        format!("test@127.0.0.1:{}/{database}", self.port)
    }
}

const PGBOUNCER: &str = "/usr/sbin/pgbouncer";

#[tokio::test]
async fn a_pooler_is_found_out_and_the_cures_work() {
    let server = shared();
    let database = server.database().await;
    for mode in ["transaction", "session"] {
        let Some(pooler) = Pooler::before(server, mode) else {
            eprintln!("pgbouncer is not installed");
            return;
        };
        let url = pooler.url(&database);
        let refused = async |url: &str| {
            let error = Peer::open(url).await.err().unwrap();
            assert!(matches!(error, SetupError::Unsuitable { .. }), "{error:?}");
            error.to_string()
        };
        let pooled = refused(&url).await;
        assert!(pooled.contains("a pooler is in front of it"), "{pooled}");
        assert!(pooled.contains("`poll=200ms`"), "{pooled}");
        // A polling client reads its mail, and finds out its own grant.
        let mut peer = Peer::new(&format!("{url}?poll=20ms")).await;
        let (held, _) = peer.holds("n").await;
        let waiting = Ticket::random();
        let queued = peer.ask("n", acquire(waiting, Mode::Queue)).await;
        assert!(matches!(queued, Ok(Reply::Queued { .. })), "{queued:?}");
        peer.ask("n", release(held)).await.unwrap();
        assert!(matches!(peer.message().await, Message::Grant { .. }));
        peer.ask("n", release(waiting)).await.unwrap();
        peer.end().await;
        // An operator, who need not listen, sees that clients would be refused.
        let cured = format!("{url}?poll=200ms");
        for (url, wanted) in [(&url, &["pooler"][..]), (&cured, &[])] {
            let mut reader = engine(url).reader(&options());
            let described = reader.describe().await;
            let problems = &described[0].as_ref().unwrap().problems;
            let ids: Vec<_> = problems.iter().map(|[id, ..]| &**id).collect();
            assert_eq!(ids, wanted, "{problems:?}");
            if let [[_, meaning, remedy]] = &problems[..] {
                assert!(meaning.starts_with("a pooler is in front of it"));
                assert!(remedy.starts_with("connect to the server itself"));
            }
        }
    }
}

#[tokio::test]
async fn behind_a_pooler_a_crash_is_told_from_a_new_connection() {
    let mut server = Server::start();
    let Some(mut pooler) = Pooler::before(&server, "session") else {
        eprintln!("pgbouncer is not installed");
        return;
    };
    let mut peer = Peer::new(&format!("{}?poll=200ms", pooler.url("postgres"))).await;
    let (held, token) = peer.holds("n").await;
    pooler.kill();
    peer.lost().await;
    pooler.start_again();
    assert!(peer.connected().await);
    assert!(peer.closed.is_none());
    let kept = peer.ask("n", touch(held, 2)).await;
    assert!(matches!(kept, Ok(Reply::Granted { token: same, .. }) if same == token));
    server.down("QUIT");
    peer.lost().await;
    let refused = peer.refusal("n", acquire(Ticket::random(), Mode::Try));
    assert!(refused.unwrap_err().is_disconnected());
    server.up();
    assert!(peer.connected().await);
    assert_eq!(peer.closed.unwrap().cause, Cause::Restart);
    assert_eq!(peer.ask("n", touch(held, 3)).await.unwrap(), Reply::Gone);
    peer.end().await;
}

/// What each setting of a role does to a client that listens, and to one behind a pooler: works, or is refused with
/// this.
const OF_ROLES: [(&str, Option<&str>, Option<&str>); 10] = [
    ("statement_timeout = '300ms'", None, None),
    ("lock_timeout = '300ms'", None, None),
    ("idle_in_transaction_session_timeout = 1", None, None),
    ("idle_session_timeout = '3s'", None, None),
    (
        "default_transaction_isolation = 'serializable'",
        None,
        Some("SET default_transaction_isolation = 'read committed'`"),
    ),
    (
        "default_transaction_read_only = on",
        Some("SET default_transaction_read_only = off`"),
        Some("SET default_transaction_read_only = off`"),
    ),
    ("search_path = ''", None, None),
    ("search_path = auto_mutex, nowhere, pg_catalog", None, None),
    ("synchronous_commit = off", None, None),
    ("standard_conforming_strings = off", None, None),
];

#[tokio::test]
async fn settings_of_a_role_harm_nobody_unnoticed() {
    let _watch = real_time();
    let server = shared();
    let local = LocalSet::new();
    let cases = OF_ROLES.iter().enumerate().map(|(number, case)| {
        let (setting, direct, pooled) = *case;
        local.spawn_local(async move {
            let database = server.database().await;
            let role = format!("set_{number}");
            let admin = server.admin(&database).await;
            let create = format!(
                "CREATE ROLE {role} LOGIN; ALTER ROLE {role} SET {setting}; GRANT CREATE ON DATABASE {database} TO {role}"
            );
            admin.batch_execute(&create).await.unwrap();
            let url = format!("{role}@127.0.0.1:{}/{database}", server.port);
            for (url, refusal) in [(url.clone(), direct), (format!("{url}?poll=200ms"), pooled)] {
                // Those who make the schema together do not disturb each other.
                let opened = tokio::join!(Peer::open(&url), Peer::open(&url), Peer::open(&url));
                for opened in [opened.0, opened.1, opened.2] {
                    let mut peer = match (opened, refusal) {
                        (Ok(peer), None) => peer,
                        (Err(error), Some(cure)) => {
                            let error = with_sources(&error);
                            assert!(error.contains(cure), "{setting}: {error}");
                            continue;
                        }
                        (Err(error), None) => panic!("{setting}: {}", with_sources(&error)),
                        (Ok(_), Some(_)) => panic!("{setting}: it is not refused"),
                    };
                    let idle = Duration::from_millis(3300);
                    if setting.starts_with("idle_session") && !url.contains("poll") {
                        tokio::time::sleep(idle).await;
                    }
                    let (name, ticket) = ("n", Ticket::random());
                    // A time-out of the role may strike on a busy machine. Callers try again.
                    let answer = loop {
                        match peer.ask(name, acquire(ticket, Mode::Try)).await {
                            Err(error) if error.kind() == StoreErrorKind::Busy => {}
                            other => break other,
                        }
                    };
                    assert!(matches!(answer, Ok(Reply::Granted { .. })), "{setting}: {answer:?}");
                    while peer.ask(name, release(ticket)).await.is_err() {}
                    peer.end().await;
                }
            }
            let mut reader = engine(&url).reader(&options());
            while let Err((_, error)) = &reader.describe().await[0] {
                // It may strike here, too.
                let error = with_sources(error);
                assert!(error.contains("statement timeout"), "{setting}: {error}");
            }
        })
    });
    let cases: Vec<_> = cases.collect();
    local.await;
    for case in cases {
        case.await.unwrap();
    }
}

#[tokio::test]
async fn a_stricter_isolation_of_a_role_fails_no_request() {
    let server = shared();
    let database = server.database().await;
    let admin = server.admin(&database).await;
    let role = format!("strict_{database}");
    let create = format!(
        "CREATE ROLE {role} LOGIN SUPERUSER; ALTER ROLE {role} SET default_transaction_isolation = 'repeatable read'"
    );
    admin.batch_execute(&create).await.unwrap();
    let url = format!("{role}@127.0.0.1:{}/{database}", server.port);
    let mut peer = Peer::new(&url).await;
    let (held, _) = peer.holds("n").await;
    let mut counter = 2;
    loop {
        let change = "BEGIN; UPDATE auto_mutex.names SET last = last WHERE name = 'n'";
        admin.batch_execute(change).await.unwrap();
        let waiting = peer.submit("n", touch(held, counter));
        server.blocks(&database).await;
        admin.batch_execute("COMMIT").await.unwrap();
        match peer.answer(waiting).await {
            Ok(Reply::Granted { .. }) => break,
            // On a slow machine, it waits longer for the row than it may.
            Err(error) if error.code() == Some("55P03") => counter += 1,
            other => panic!("{other:?}"),
        }
    }
    peer.end().await;
}
