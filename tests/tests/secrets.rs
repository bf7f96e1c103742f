//! A password never shows: not in Debug, not in Display, not in any error, not in the log.
//!
//! Events that an operator should know are logged. The log is process-wide, so this is a separate program.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use auto_mutex::{Client, Config, Credentials, CredentialsProvider, ServerAddress, ServerKind};
use auto_mutex_tests::chain;
use auto_mutex_tests::events::{LONG, becomes, soon};
use auto_mutex_tests::log;
use auto_mutex_tests::proxy::Proxy;
use auto_mutex_tests::real_time::real_time;
use auto_mutex_tests::redis::{Options, Redis};
use auto_mutex_tests::sentinel::Service;

const CANARY: &str = "kanarienvogel";

/// A password that needs escaping, so that its escaped form must not show either.
const PASSWORD: &str = "kanarienvogel:x";
const ESCAPED: &str = "kanarienvogel%3Ax";

#[track_caller]
fn hides(what: &str, shown: &str) {
    assert!(
        !shown.contains(CANARY),
        "{what} shows the password: {shown}"
    );
}

/// Checks both forms of Debug.
#[track_caller]
fn hides_all(what: &str, thing: &impl Debug) {
    hides(what, &format!("{thing:?}"));
    hides(what, &format!("{thing:#?}"));
}

/// Checks an error and all its causes.
#[track_caller]
fn hides_error(what: &str, error: &impl std::error::Error) {
    hides_all(what, error);
    hides(what, &error.to_string());
    let mut cause = error.source();
    while let Some(error) = cause {
        hides(what, &format!("{error} {error:?}"));
        cause = error.source();
    }
}

#[test]
fn a_url_that_is_refused_is_not_repeated() {
    log::take_all();
    for url in [
        format!("redis://u:{ESCAPED}@host:badport"),
        format!("redis://u:{CANARY}/@host"),
        format!("redis://{CANARY}"),
        format!("redis://:{CANARY}@"),
        format!("{CANARY}://u:p@host"),
        format!("http://u:{ESCAPED}@host"),
        format!("redis://u:{ESCAPED}@host/{CANARY}"),
        format!("unix:///no/socket?pass={ESCAPED}&db=x"),
        format!("unix:///no/socket?{CANARY}"),
        format!("redlock://u:{ESCAPED}@host"),
        ESCAPED.to_owned(),
    ] {
        // Without a known scheme, it is unclear which part is secret, so no part is shown.
        if let Err(error) = Config::new(&url) {
            hides_error(&url, &error);
        }
    }
    hides("the log", &log::so_far());
}

#[test]
fn a_server_that_is_not_there_or_refuses_shows_nothing() {
    log::take_all();
    let gone = Redis::start().port();
    let redis = Redis::with(Options::default().password("other").user(
        "reader",
        PASSWORD,
        "~* &* +ping",
    ));
    let port = redis.port();
    for url in [
        format!("redis://u:{ESCAPED}@127.0.0.1:{gone}"),
        format!("redis://:{ESCAPED}@127.0.0.1:{port}"),
        format!("redis://u:{ESCAPED}@127.0.0.1:{port}"),
        format!("redis://reader:{ESCAPED}@127.0.0.1:{port}"),
        format!("unix:///no/socket?pass={ESCAPED}"),
        format!("unix://{}?pass={ESCAPED}", redis.socket().display()),
    ] {
        let config = Config::new(&url).unwrap();
        hides_all("Config", &config);
        hides_error(&url, &Client::connect(config).map(drop).unwrap_err());
    }
    hides("the log", &log::so_far());
}

#[tokio::test]
async fn a_whole_life_shows_nothing() {
    log::take_all();
    let options = Options::default()
        .password("admin")
        .user("locker", PASSWORD, "~* &* +@all");
    let redis = Redis::with(options);
    let url = format!("redis://locker:{ESCAPED}@127.0.0.1:{}", redis.port());
    let config = Config::new(&url).unwrap().namespace("canary").lease(LONG);
    let config = config.connect_timeout("60s");
    hides_all("Config", &config);
    let client = Client::connect(config.clone()).unwrap();
    let impatient = Client::connect(config.store_timeout("200ms")).unwrap();
    hides_all("Client", &client);
    // It is renewed ten times as often as with the client's lease, and the renewal tells of the loss.
    let mutex = client.mutex("m").expire("9s");
    hides_all("Mutex", &mutex);
    let guard = mutex.lock().await.unwrap();
    hides_all("MutexGuard", &guard);
    hides_all("LockInfo", &mutex.info().await.unwrap());
    let busy = client.mutex("m").block(Duration::ZERO).lock().await;
    hides_error("Timeout", &busy.unwrap_err());
    assert!(mutex.force_unlock().await.unwrap());
    soon("the lock is lost", guard.lost()).await;
    hides_error("Lost", &guard.check().unwrap_err());
    let unavailable = async || {
        let error = soon("an answer", impatient.mutex("m").lock()).await;
        hides_error("Unavailable", &error.unwrap_err());
    };
    // The password changes and the connection is cut, so the reconnects fail.
    redis.command(&["ACL", "SETUSER", "locker", "resetpass", ">changed"]);
    redis.kill_clients();
    unavailable().await;
    redis.kill9();
    unavailable().await;
    soon("shut down", client.shutdown()).await;
    hides_error("ShutDown", &client.mutex("m").lock().await.unwrap_err());
    hides("the log", &log::so_far());
}

#[tokio::test]
async fn what_a_person_must_correct_is_logged_once_in_each_outage() {
    log::take_all();
    let options = Options::default().password("admin");
    let redis = Redis::with(options.user("locker", PASSWORD, "~* &* +@all"));
    let port = redis.port();
    let config = Config::new(format!("redis://locker:{ESCAPED}@127.0.0.1:{port}")).unwrap();
    let config = config.namespace("causes").lease(LONG);
    let config = config.connect_timeout("60s").store_timeout("100ms");
    let client = Client::connect(config).unwrap();
    let lines = |level: &str, words: &str| {
        let (text, address) = (log::so_far(), format!("127.0.0.1:{port}"));
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.retain(|line| [level, words, &address].iter().all(|it| line.contains(it)));
        lines.len()
    };
    let outage = async |rules: &[&str], cause: &str, count: usize| {
        let repeated = lines("DEBUG", cause);
        redis.command(&[&["ACL", "SETUSER", "locker"], rules].concat());
        redis.kill_clients();
        becomes("three attempts have failed", async || {
            lines("DEBUG", cause) >= repeated + 2
        })
        .await;
        assert_eq!(lines("ERROR", cause), count, "{cause}: {}", log::so_far());
        let mutex = client.mutex("m");
        let error = soon("an answer", mutex.lock()).await.unwrap_err();
        assert!(chain(&error).contains(cause), "{}", chain(&error));
        let error = client.health().last_error.unwrap().error;
        assert!(chain(&error).contains(cause), "{}", chain(&error));
    };
    let password = format!(">{PASSWORD}");
    for count in 1..=2 {
        outage(&["resetpass", ">changed"], "WRONGPASS", count).await;
        outage(&[&password, "-script|exists"], "NOPERM", count).await;
        redis.command(&["ACL", "SETUSER", "locker", "+@all"]);
        becomes("it is connected again", async || {
            lines("INFO", "is back") == count
        })
        .await;
    }
    soon("shut down", client.shutdown()).await;
    hides("the log", &log::so_far());
}

#[tokio::test]
async fn each_weakness_is_logged_once_also_that_of_a_server_that_takes_over() {
    log::take_all();
    // No other test has these policies.
    let policies = ["volatile-random", "volatile-lfu"];
    let [first, second] = policies.map(|policy| {
        let options = Options::default().line("maxmemory 1gb");
        Redis::with(options.line(&format!("maxmemory-policy {policy}")))
    });
    let proxy = Proxy::start(first.port());
    let config = Config::new(first.url_at(proxy.port())).unwrap();
    let config = config.namespace("weaknesses").lease(LONG);
    let client = Client::connect(config.connect_timeout("60s")).unwrap();
    let warned = || {
        let text = log::so_far();
        policies.map(|policy| {
            text.matches(&format!("maxmemory-policy is {policy}"))
                .count()
        })
    };
    assert_eq!(warned(), [1, 0]);
    for port in [second.port(), first.port(), second.port()] {
        let back = proxy.connections();
        proxy.redirect(port);
        proxy.cut();
        becomes("the other server is used", async || {
            proxy.connections() > back && client.is_connected()
        })
        .await;
        becomes("its weakness is logged", async || warned()[1] > 0).await;
        // (Another name each time: a release may have been cut off.)
        let mutex = client.mutex(format!("m{back}"));
        drop(soon("granted", mutex.lock()).await.unwrap());
        assert_eq!(warned(), [1, 1]);
    }
    soon("shut down", client.shutdown()).await;
}

#[tokio::test]
async fn an_outage_and_a_loss_are_logged() {
    let _watch = real_time();
    log::take_all();
    let redis = Redis::start();
    let config = Config::new(redis.url())
        .unwrap()
        .namespace("logged")
        .connect_timeout("60s")
        .lease("600ms");
    let client = Client::connect(config).unwrap();
    let guard = client.mutex("precious").lock().await.unwrap();
    redis.kill9();
    soon("the lease is lost", guard.lost()).await;
    becomes("the loss is logged with its name", async || {
        log::so_far()
            .lines()
            .any(|line| line.contains("WARN") && line.contains("logged:precious"))
    })
    .await;
    let address = format!("127.0.0.1:{}", redis.port());
    becomes("the outage is logged with the address", async || {
        log::so_far().contains(&address)
    })
    .await;
}

/// A provider of short-lived credentials that can be made to fail, or to give a wrong password.
#[derive(Clone, Default)]
struct Rotating {
    fails: Arc<AtomicBool>,
    wrong: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl CredentialsProvider for Rotating {
    async fn credentials(
        &self,
        _: &ServerAddress,
    ) -> Result<Credentials, Box<dyn std::error::Error + Send + Sync>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            return Err("the vault of the secrets test is shut".into());
        }
        let password = match self.wrong.load(Ordering::SeqCst) {
            true => format!("{CANARY}-wrong"),
            false => PASSWORD.to_owned(),
        };
        Ok(Credentials::new(format!("{CANARY}-user"), password).valid_for("1500ms"))
    }
}

/// Waits until the log has a warning with these words.
async fn is_warned_of(words: &str) {
    becomes(words, async || {
        let text = log::so_far();
        text.lines()
            .any(|line| line.contains("WARN") && line.contains(words))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_in_trouble_is_warned_of_and_shows_nothing() {
    let _watch = real_time();
    log::take_all();
    let credentials = Credentials::new(CANARY, PASSWORD).expires_at(SystemTime::now());
    hides_all("Credentials", &credentials);
    hides_all(
        "Credentials",
        &Credentials::password(PASSWORD).valid_for("x"),
    );
    let user = format!("{CANARY}-user");
    let options = Options::default().password("admin");
    let redis = Redis::with(options.user(&user, PASSWORD, "~* &* +@all"));
    let provider = Rotating::default();
    let url = format!("redis://127.0.0.1:{}", redis.port());
    let config = Config::new(&url).unwrap().namespace("rotating").lease(LONG);
    let config = config
        .connect_timeout("60s")
        .store_timeout("500ms")
        .credentials(provider.clone());
    hides_all("Config", &config);
    // Failures at set-up.
    for flag in [&provider.fails, &provider.wrong] {
        flag.store(true, Ordering::SeqCst);
        let error = Client::connect(config.clone()).map(drop).unwrap_err();
        hides_error("SetupError", &error);
        flag.store(false, Ordering::SeqCst);
    }
    let client = Client::connect(config).unwrap();
    hides_all("Client", &client);
    becomes("it is renewed", async || {
        log::so_far().contains("logged in with new credentials")
    })
    .await;
    // Failures while the connection lives: the server refuses, then the provider fails.
    provider.wrong.store(true, Ordering::SeqCst);
    is_warned_of("are not renewed yet, trying again").await;
    is_warned_of("WRONGPASS").await;
    provider.fails.store(true, Ordering::SeqCst);
    is_warned_of("failed: the vault of the secrets test is shut").await;
    // Failures after the loss of the connection.
    redis.kill_clients();
    is_warned_of("no connection to the lock store, trying again").await;
    becomes("calls say so", async || {
        match soon("an answer", client.mutex("m").lock()).await {
            Ok(_) => false,
            Err(error) => {
                hides_error("Unavailable", &error);
                chain(&error).contains("the vault of the secrets test is shut")
            }
        }
    })
    .await;
    provider.fails.store(false, Ordering::SeqCst);
    let asked = provider.asked.load(Ordering::SeqCst);
    becomes("it is asked for a connection that is refused", async || {
        provider.asked.load(Ordering::SeqCst) > asked + 1
    })
    .await;
    provider.wrong.store(false, Ordering::SeqCst);
    becomes("it is connected again", async || {
        client.mutex("m").lock().await.is_ok()
    })
    .await;
    soon("shut down", client.shutdown()).await;
    hides("the log", &log::so_far());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_fails_for_sentinels_alone_is_warned_of() {
    log::take_all();
    let service = Service::start();
    let fails = Arc::new(AtomicBool::new(false));
    let flag = fails.clone();
    let provider = move |server: ServerAddress| {
        let fails = flag.load(Ordering::SeqCst) && server.kind() == ServerKind::Sentinel;
        async move {
            match fails {
                true => Err("nobody knows the sentinels' password".into()),
                // The sentinels require no password, and accept any.
                false => Ok(Credentials::password(PASSWORD)),
            }
        }
    };
    let config = Config::new(service.url()).unwrap().restart_guard(false);
    let config = config.connect_timeout("60s").lease(LONG);
    let client = Client::connect(config.credentials(provider)).unwrap();
    fails.store(true, Ordering::SeqCst);
    let warned = async || {
        for sentinel in service.sentinels() {
            sentinel.kill_clients();
        }
        let text = log::so_far();
        let mut lines = text.lines();
        lines.any(|line| {
            line.contains("WARN")
                && line.contains("no connection to a sentinel")
                && line.contains("nobody knows the sentinels' password")
        })
    };
    becomes("it is warned of", warned).await;
    // The connection to the server is not affected.
    drop(soon("granted", client.mutex("m").lock()).await.unwrap());
    hides("the log", &log::so_far());
}
