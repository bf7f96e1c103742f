//! TLS as `sslmode` says, certificates of both sides, and logins that are tied to them.

use std::fs;
use std::path::PathBuf;

use auto_mutex_seam::store::with_sources;
use auto_mutex_seam::{SetupError, TlsError};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use super::peer::Peer;
use super::server::{Server, shared};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        // OpenSSL takes a certificate whose issuer has its name for signed by itself.
        let names = &mut params.distinguished_name;
        names.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// A certificate for a name, and its key.
    fn issue(&self, name: &str) -> (String, String) {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        (cert.pem(), key.serialize_pem())
    }
}

/// A server with TLS, and the files of its authority and of another one.
struct Rig {
    server: Server,
    authority: Authority,
    other: Authority,
}

impl Rig {
    async fn new() -> Self {
        let mut server = Server::start();
        let admin = server.admin("postgres").await;
        let create = "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'word'; CREATE ROLE known LOGIN SUPERUSER; \
                      CREATE ROLE plain LOGIN SUPERUSER";
        admin.batch_execute(create).await.unwrap();
        let (authority, other) = (Authority::new("ours"), Authority::new("other"));
        let (cert, key) = authority.issue("db.example");
        let cert = server.secret("server.pem", &cert);
        let key = server.secret("server.key", &key);
        let ca = server.secret("server.ca", &authority.0.pem());
        let rules = "local all all trust\nhostssl all app all scram-sha-256\n\
                     hostssl all known all trust clientcert=verify-ca\nhostnossl all plain all trust\n";
        let settings = format!(
            "ssl = on\nssl_cert_file = '{}'\nssl_key_file = '{}'\nssl_ca_file = '{}'\n",
            cert.display(),
            key.display(),
            ca.display()
        );
        server.change(rules, &settings);
        let rig = Self {
            server,
            authority,
            other,
        };
        rig.file("ca", &rig.authority.0.pem());
        rig.file("other", &rig.other.0.pem());
        rig
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.server.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// `DIR` in the query is the folder of the files.
    async fn open(&self, user: &str, query: &str) -> Result<(), SetupError> {
        let query = query.replace("DIR", &self.server.dir.path().display().to_string());
        let url = format!("{user}@127.0.0.1:{}/postgres?{query}", self.server.port);
        let mut peer = Peer::open(&url).await?;
        peer.works().await;
        peer.end().await;
        Ok(())
    }
}

fn tls(found: Result<(), SetupError>) -> TlsError {
    match found.unwrap_err() {
        SetupError::Tls { source, .. } => source,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_sslmode_checks_what_it_says() {
    let rig = Rig::new().await;
    for query in [
        "",
        "sslmode=allow",
        "sslmode=require",
        "sslmode=require&channel_binding=require",
        "channel_binding=disable",
        "sslmode=verify-ca&sslrootcert=DIR/ca",
        "sslmode=require&ca=DIR/ca&channel_binding=require",
        "sslmode=verify-full&ca=DIR/ca&server_name=db.example",
    ] {
        let opened = rig.open("app:word", query).await;
        opened.unwrap_or_else(|error| panic!("{query}: {error:?}"));
    }
    let full = "sslmode=verify-full&ca=DIR/ca";
    let wrong = tls(rig.open("app:word", full).await);
    let names = vec!["db.example".to_owned()];
    assert_eq!(wrong, TlsError::WrongName { names });
    for mode in ["verify-ca", "verify-full", "require"] {
        let query = format!("sslmode={mode}&ca=DIR/other&server_name=db.example");
        let found = tls(rig.open("app:word", &query).await);
        assert_eq!(found, TlsError::UnknownIssuer, "{mode}");
    }
    let missing = tls(rig.open("app:word", "sslmode=verify-ca&ca=DIR/none").await);
    assert!(matches!(missing, TlsError::File { .. }), "{missing:?}");

    // Without TLS where only TLS is taken, and the other way round.
    let error = rig.open("app:word", "sslmode=disable").await.unwrap_err();
    let text = with_sources(&error);
    assert!(text.contains("`sslmode=require`"), "{text}");
    rig.open("plain", "sslmode=disable").await.unwrap();
    let error = rig.open("plain", "sslmode=require").await.unwrap_err();
    assert!(
        matches!(error, SetupError::Authentication { .. }),
        "{error:?}"
    );
    let error = rig.open("app:canary", "sslmode=require").await.unwrap_err();
    let text = with_sources(&error);
    assert!(
        text.contains("user `app`") && !text.contains("canary"),
        "{text}"
    );
}

#[tokio::test]
async fn a_client_shows_its_certificate() {
    let rig = Rig::new().await;
    for (name, authority) in [("mine", &rig.authority), ("strange", &rig.other)] {
        let (cert, key) = authority.issue("client.example");
        rig.file(&format!("{name}.pem"), &cert);
        rig.file(&format!("{name}.key"), &key);
    }
    let without = rig.open("known", "").await.unwrap_err();
    assert!(
        matches!(without, SetupError::Authentication { .. }),
        "{without:?}"
    );
    for query in [
        "sslmode=require&sslcert=DIR/mine.pem&sslkey=DIR/mine.key",
        "sslmode=verify-ca&ca=DIR/ca&cert=DIR/mine.pem&key=DIR/mine.key",
    ] {
        rig.open("known", query).await.unwrap();
    }
    let strange = "sslmode=require&cert=DIR/strange.pem&key=DIR/strange.key";
    let refused = tls(rig.open("known", strange).await);
    assert!(
        matches!(refused, TlsError::ClientCertificateRefused { .. }),
        "{refused:?}"
    );
    let mixed = "sslmode=require&cert=DIR/mine.pem&key=DIR/strange.key";
    let mixed = tls(rig.open("known", mixed).await);
    assert!(matches!(mixed, TlsError::File { .. }), "{mixed:?}");
}

#[tokio::test]
async fn a_server_without_tls_is_named_as_such() {
    let url = shared().url("postgres");
    for query in ["sslmode=require", "sslmode=verify-full"] {
        let error = Peer::open(&format!("{url}?{query}")).await.err().unwrap();
        let text = with_sources(&error);
        assert!(text.contains("the server has no TLS"), "{text}");
    }
    // There is nothing to tie the login to.
    let mut server = Server::start();
    let admin = server.admin("postgres").await;
    let create = "CREATE ROLE app LOGIN SUPERUSER PASSWORD 'word'";
    admin.batch_execute(create).await.unwrap();
    server.change("host all all all scram-sha-256\n", "");
    let url = format!("app:word@127.0.0.1:{}/postgres", server.port);
    Peer::new(&url).await.end().await;
    let bound = format!("{url}?channel_binding=require");
    let error = Peer::open(&bound).await.err().unwrap();
    assert!(
        matches!(error, SetupError::Authentication { .. }),
        "{error:?}"
    );
}
