//! Each fault of TLS has its own error, found at set-up.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use auto_mutex::{Client, Config, SetupError, TlsError, operator};
use auto_mutex_tests::authority::{Authority, Identity, Valid};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{becomes, finishes, soon};
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::redis::{Options, Redis};

fn setup(url: &str) -> Result<(), SetupError> {
    let config = Config::new(url).unwrap().connect_timeout("60s");
    finishes("an answer", move || Client::connect(config).map(drop))
}

#[track_caller]
fn fault(url: &str) -> TlsError {
    match setup(url).unwrap_err() {
        SetupError::Tls { source, .. } => source,
        other => panic!("{url}: {other:?}"),
    }
}

fn server(authority: &Authority, identity: Identity) -> Redis {
    Redis::with(Options::default().tls(authority, identity))
}

#[test]
fn an_authority_that_nobody_named_is_not_trusted() {
    let (authority, other) = (Authority::new(), Authority::new());
    let redis = server(&authority, authority.issue());
    let port = redis.tls_port();
    let ca = other.ca();
    let ca = ca.display();
    assert_eq!(
        fault(&format!("rediss://127.0.0.1:{port}?ca={ca}")),
        TlsError::UnknownIssuer
    );
    setup(&redis.tls_url()).unwrap();
}

#[test]
fn the_systems_authorities_are_trusted_unless_others_are_named() {
    let (authority, other) = (Authority::new(), Authority::new());
    let redis = server(&authority, authority.issue());
    let url = format!("rediss://localhost:{}", redis.tls_port());
    // Environment variables name the certificates that the system trusts, so each attempt runs in its own process.
    let attempt = |url: &str, system: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_test-worker"))
            .args([url, "10000"])
            .env("SSL_CERT_FILE", system)
            .env("SSL_CERT_DIR", "/nowhere")
            .stdin(Stdio::null())
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let said = attempt(&url, &authority.ca());
    assert!(said.starts_with("ready"), "{said}");
    let said = attempt(&url, &other.ca());
    assert!(said.contains("UnknownIssuer"), "{said}");
    let said = attempt(&url, Path::new("/nowhere/ca.pem"));
    assert!(said.contains("NoSystemRoots"), "{said}");
    let own = format!("{url}?ca={}", other.ca().display());
    let said = attempt(&own, &authority.ca());
    assert!(said.contains("UnknownIssuer"), "{said}");
}

#[test]
fn the_certificate_must_be_for_the_host_or_the_name_given() {
    let authority = Authority::new();
    let identity = authority.issue_for(&["locks.example", "10.1.2.3"], Valid::Now);
    let redis = server(&authority, identity);
    let url = redis.tls_url();
    let TlsError::WrongName { names } = fault(&url) else {
        panic!("another error");
    };
    assert_eq!(names, ["locks.example", "10.1.2.3"]);
    let wrong = format!("{url}&server_name=other.example");
    assert!(matches!(fault(&wrong), TlsError::WrongName { .. }));
    for name in ["locks.example", "10.1.2.3"] {
        setup(&format!("{url}&server_name={name}")).unwrap();
    }
    let never = format!("{url}&server_name=-");
    assert_eq!(
        fault(&never),
        TlsError::InvalidName {
            name: "-".to_owned()
        }
    );
}

#[test]
fn a_certificate_is_valid_for_its_time() {
    let authority = Authority::new();
    for (valid, expected) in [
        (Valid::Before, TlsError::Expired),
        (Valid::Later, TlsError::NotYetValid),
    ] {
        let redis = server(&authority, authority.issue_for(&["127.0.0.1"], valid));
        assert_eq!(fault(&redis.tls_url()), expected);
    }
}

#[test]
fn a_port_without_tls_is_told_from_a_wrong_certificate() {
    let authority = Authority::new();
    let redis = server(&authority, authority.issue());
    let url = redis.tls_url_at(redis.port());
    // The reaction of a plain server to the handshake depends on the random bytes of the handshake.
    for _ in 0..4 {
        let config = Config::new(&url).unwrap().connect_timeout("1s");
        let error = finishes("an answer", move || {
            Client::connect(config).map(drop).unwrap_err()
        });
        let text = chain(&error);
        assert!(text.contains("does this port speak TLS?"), "{text}");
        assert!(
            matches!(
                error,
                SetupError::Tls {
                    source: TlsError::NotTls | TlsError::NoAnswer,
                    ..
                }
            ),
            "{error:?}"
        );
    }
}

#[test]
fn who_closes_or_says_nothing_does_not_speak_tls() {
    for silent in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming() {
                if silent {
                    kept.push(stream);
                }
            }
        });
        let authority = Authority::new();
        let url = format!("rediss://127.0.0.1:{port}?ca={}", authority.ca().display());
        // The timeout is reached only if the listener is silent; one that closes is reported at once.
        let patience = if silent { "500ms" } else { "10s" };
        let config = Config::new(url).unwrap().connect_timeout(patience);
        let error = finishes("an answer", move || {
            Client::connect(config).map(drop).unwrap_err()
        });
        let SetupError::Tls { source, .. } = error else {
            panic!("{error:?}");
        };
        let expected = [TlsError::Closed, TlsError::NoAnswer][usize::from(silent)].clone();
        assert_eq!(source, expected);
    }
}

#[test]
fn a_port_with_tls_asks_for_a_url_that_says_so() {
    let authority = Authority::new();
    let redis = server(&authority, authority.issue());
    assert_eq!(
        fault(&format!("redis://127.0.0.1:{}", redis.tls_port())),
        TlsError::Required
    );
    let secure = format!("redis://127.0.0.1:{}?tls=true", redis.tls_port());
    setup(&format!("{secure}&ca={}", authority.ca().display())).unwrap();
}

#[tokio::test]
async fn it_does_so_to_every_kind_of_client() {
    let authority = Authority::new();
    let redis = server(&authority, authority.issue());
    let at = format!("127.0.0.1:{}", redis.tls_port());
    for url in [
        format!("redis-cluster://{at}"),
        format!("redis-sentinel://{at}/service"),
    ] {
        let error = setup(&url).unwrap_err();
        let text = chain(&error);
        assert!(
            text.contains(&TlsError::Required.to_string()),
            "{url}: {text}"
        );
    }
    let config = Config::new(format!("redis://{at}")).unwrap();
    let error = finishes("an answer", || {
        operator::Operator::connect(config).map(drop)
    });
    let text = chain(&error.unwrap_err());
    assert!(text.contains(&TlsError::Required.to_string()), "{text}");
    // A server that begins to speak TLS during the life of a client.
    let plain = Proxy::start(redis.port());
    let config = Config::new(redis.url_at(plain.port())).unwrap();
    let client = Client::connect(config.store_timeout("100ms")).unwrap();
    plain.redirect(redis.tls_port());
    plain.cut();
    becomes("its calls say so", async || {
        let error = soon("an answer", client.mutex("m").lock()).await.err();
        error.is_some_and(|error| chain(&error).contains(&TlsError::Required.to_string()))
    })
    .await;
}

#[test]
fn a_server_may_ask_who_its_clients_are() {
    let (authority, other) = (Authority::new(), Authority::new());
    let options = Options::default().tls(&authority, authority.issue());
    let redis = Redis::with(options.line("tls-auth-clients yes"));
    let url = |identity: &Identity| {
        let (cert, key) = (identity.cert.display(), identity.key.display());
        format!("{}&cert={cert}&key={key}", redis.tls_url())
    };
    // The server reports the refusal after the handshake, or closes the connection. Both must always give this error.
    for _ in 0..10 {
        assert_eq!(fault(&redis.tls_url()), TlsError::ClientCertificateRequired);
        for refused in [other.issue(), authority.issue_for(&["me"], Valid::Before)] {
            let error = fault(&url(&refused));
            assert!(
                matches!(error, TlsError::ClientCertificateRefused { .. }),
                "{error:?}"
            );
        }
    }
    setup(&url(&authority.issue())).unwrap();
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let (authority, canary) = (Authority::new(), "PRIVATECANARY");
    let (own, another) = (authority.issue(), authority.issue());
    let dir = own.cert.parent().unwrap();
    let file = |name: &str, content: &str| {
        fs::write(dir.join(name), content).unwrap();
        dir.join(name)
    };
    let empty = file("empty", "");
    let garbage = file("garbage", canary);
    let bad = file(
        "bad",
        &format!("-----BEGIN CERTIFICATE-----\n{canary}!\n-----END CERTIFICATE-----\n"),
    );
    let bad_key = file(
        "bad-key",
        &format!("-----BEGIN {canary}\n-----BEGIN PRIVATE KEY-----\n{canary}!\n"),
    );
    let no_certificate = file(
        "none",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    );
    let huge = file("huge", &"x".repeat(2 << 20));
    let pipe = dir.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let absent = dir.join("absent");
    let (cert, key, ca) = (&own.cert, &own.key, &authority.ca());
    let cases = [
        (&absent, cert, key, &absent, "No such file"),
        (&dir.to_owned(), cert, key, &dir.to_owned(), "directory"),
        (&pipe, cert, key, &pipe, "in time"),
        (ca, &pipe, key, ca, "in time"),
        (&huge, cert, key, &huge, "1 MiB"),
        (&empty, cert, key, &empty, "no certificate"),
        (&garbage, cert, key, &garbage, "no certificate"),
        (&bad, cert, key, &bad, "PEM"),
        (&no_certificate, cert, key, &no_certificate, "authority"),
        (ca, &absent, key, &absent, "No such file"),
        (ca, key, key, key, "no certificate"),
        (ca, cert, &absent, &absent, "No such file"),
        (ca, cert, cert, cert, "no private key"),
        (ca, cert, &bad_key, &bad_key, "PEM"),
        (ca, cert, &another.key, &another.key, "not the key"),
    ];
    for (ca, cert, key, named, what) in cases {
        let [ca, cert, key] = [ca, cert, key].map(|path| path.display());
        // No server listens at this address: the files are read before connecting.
        let url = format!("rediss://127.0.0.1:1?ca={ca}&cert={cert}&key={key}");
        // A pipe is waited for until then.
        let limit = if what == "in time" { "500ms" } else { "20s" };
        let config = Config::new(url).unwrap().connect_timeout(limit);
        let error = finishes("an answer", move || Client::connect(config).map(drop));
        let error = error.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains(canary), "{text}");
        let SetupError::Tls {
            source: TlsError::File { path, reason },
            ..
        } = error
        else {
            panic!("{text}");
        };
        assert_eq!(path, *named, "{reason}");
        assert!(reason.contains(what), "{reason}");
    }
}
