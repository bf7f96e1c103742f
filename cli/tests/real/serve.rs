//! Tests of `serve`.

use std::fs::Permissions;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use auto_mutex_tests::events::eventually;
use auto_mutex_tests::real_time::real_time;
use serde_json::Value;

use super::rig::{Other, Shop, are_waiting, command, output, text};

const TOKEN: &str = "a-token-of-sixteen-and-more";

/// A running `auto-mutex serve`, and the address that it listens on.
pub(super) struct Page {
    child: Child,
    address: String,
    log: Arc<Mutex<String>>,
}

impl Page {
    pub(super) fn start(url: &str, args: &[&str]) -> Self {
        Self::every("100ms", url, args)
    }

    fn every(interval: &str, url: &str, args: &[&str]) -> Self {
        let args: Vec<_> = ["serve", "--listen", "127.0.0.1:0", "--every", interval]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let mut child = command(url, &args).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = lines.next().expect("its address").expect("a line");
        let address = line
            .strip_prefix("http://")
            .and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let log = Arc::new(Mutex::new(String::new()));
        let written = log.clone();
        std::thread::spawn(move || {
            for line in lines {
                *written.lock().unwrap() += &(line.unwrap() + "\n");
            }
        });
        Self {
            child,
            address,
            log,
        }
    }

    /// Sends a request, and returns the status, the head in lower case, and the body of the answer.
    pub(super) fn ask(&self, request: &str) -> (u16, String, String) {
        self.ask_as(request, &self.address)
    }

    fn ask_as(&self, request: &str, host: &str) -> (u16, String, String) {
        let (line, rest) = request.split_once('\n').unwrap_or((request, "\n"));
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        let (headers, body) = rest.split_once('\n').unwrap_or((rest, ""));
        let headers = if headers.is_empty() {
            String::new()
        } else {
            format!("{headers}\r\n")
        };
        write!(
            stream,
            "{head}{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), body.to_owned())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

#[test]
fn the_page_takes_nothing_from_elsewhere() {
    let shop = Shop::open();
    let page = Page::start(&shop.url, &[]);
    for (path, kind) in [
        ("/", "text/html"),
        ("/style.css", "text/css"),
        ("/page.js", "text/javascript"),
    ] {
        let (status, head, body) = page.ask(&format!("GET {path}"));
        assert_eq!(status, 200, "{path}");
        assert!(head.contains(&format!("content-type: {kind}")), "{head}");
        assert!(
            head.contains("content-security-policy: default-src 'none'"),
            "{head}"
        );
        for elsewhere in ["https://", "//cdn", "innerHTML", "eval("] {
            assert!(!body.contains(elsewhere), "{path}: {elsewhere}");
        }
        // The only URL in these files is the XML namespace of SVG.
        assert!(
            body.matches("http://").count() == body.matches("http://www.w3.org/2000/svg").count(),
            "{path}"
        );
    }
    assert_eq!(page.ask("GET /nothing").0, 404);
}

#[test]
fn what_is_read_is_what_the_commands_write() {
    let shop = Shop::open();
    let page = Page::start(&shop.url, &[]);
    eventually("the first look is over", || {
        let listed = parsed(&page.ask("GET /api/ls").2);
        listed["locks"].as_array().unwrap().len() == 3
    });
    let shown = parsed(&page.ask("GET /api/show/orders%3A7").2);
    assert_eq!(
        (&shown["name"], &shown["schema_version"]),
        (&"orders:7".into(), &1.into())
    );
    assert_eq!(shown["waiters"].as_array().unwrap().len(), 2);
    let tree = parsed(&page.ask("GET /api/tree").2);
    assert_eq!(tree["chains"][0]["hops"][0]["name"], "orders:7");
    let (status, head, metrics) = page.ask("GET /metrics");
    assert!(status == 200 && head.contains("text/plain"), "{head}");
    assert!(
        metrics.contains("auto_mutex_waiters{kind=\"mutex\"} 2"),
        "{metrics}"
    );
    let found = parsed(&page.ask("GET /search/rders%3A7").2);
    let row = &found["locks"][0];
    assert_eq!(
        (&found["count"], &row["name"]),
        (&1.into(), &"orders:7".into())
    );
    let me = format!(":{}", std::process::id());
    assert!(row["holder"].as_str().unwrap().ends_with(&me), "{row}");
    assert_eq!(page.ask("GET /api/show/").0, 404);
}

#[test]
fn looks_are_sent_as_they_come() {
    let shop = Shop::open();
    let page = Page::start(&shop.url, &[]);
    let mut stream = TcpStream::connect(&page.address).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let updates = lines.filter_map(|line| Some(parsed(line.strip_prefix("data: ")?)));
    let full: Vec<_> = updates
        .filter(|update| update["count"] == 3)
        .take(2)
        .collect();
    assert_eq!(full[0]["waiting"], 2);
    assert!(full[0]["age_ms"].is_u64(), "{}", full[0]);
    assert_ne!(full[0]["at"], full[1]["at"]);
}

#[test]
fn without_a_token_nothing_is_broken_and_with_it_exactly_one_hold() {
    let shop = Shop::open();
    let token = shop.token("orders:7");
    let body = format!(r#"{{"name":"orders:7","token":"{token}"}}"#);
    let page = Page::start(&shop.url, &[]);
    assert_eq!(page.ask(&format!("POST /api/kick\n\n{body}")).0, 403);
    let folder = tempfile::tempdir().unwrap();
    let file = token_file(&folder, TOKEN, 0o600);
    let page = Page::start(&shop.url, &["--kick-token", file.to_str().unwrap()]);
    assert_eq!(page.ask(&format!("POST /api/kick\n\n{body}")).0, 401);
    assert_eq!(
        page.ask(&format!(
            "POST /api/kick\nAuthorization: Bearer wrong\n{body}"
        ))
        .0,
        401
    );
    assert_eq!(shop.token("orders:7"), token);
    let with_token = |body: &str| {
        page.ask(&format!(
            "POST /api/kick\nAuthorization: Bearer {TOKEN}\n{body}"
        ))
    };
    assert_eq!(with_token("nonsense").0, 400);
    let (status, _, answer) = with_token(&body);
    assert_eq!(
        (status, &parsed(&answer)["kicked"]),
        (200, &true.into()),
        "{answer}"
    );
    assert_ne!(shop.token("orders:7"), token);
    let (status, _, answer) = with_token(&body);
    assert_eq!(
        (status, &parsed(&answer)["kicked"]),
        (409, &false.into()),
        "{answer}"
    );
    let shown = parsed(&page.ask("GET /api/show/orders:7").2);
    let by = shown["kicked"]["site"].as_str().unwrap();
    assert!(
        by.starts_with("127.0.0.1:") && by.ends_with(" with auto-mutex serve"),
        "{by}"
    );
    // Each attempt is logged with its author.
    let kick = format!("kick orders:7 --token {token}: ");
    for part in [
        " 127.0.0.1:",
        "no valid token was sent",
        &(kick.clone() + "broken\n"),
        &(kick + "there was no such hold\n"),
    ] {
        eventually("it is logged", || page.log.lock().unwrap().contains(part));
    }
}

#[test]
fn a_page_with_a_name_of_its_own_reads_nothing() {
    let shop = Shop::open();
    let page = Page::start(&shop.url, &[]);
    for path in ["/", "/api/ls", "/metrics", "/events"] {
        assert_eq!(
            page.ask_as(&format!("GET {path}"), "evil.example").0,
            421,
            "{path}"
        );
    }
}

#[test]
fn beyond_this_machine_it_wants_a_token() {
    let shop = Shop::open();
    let refused = output(&shop.url, &["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let folder = tempfile::tempdir().unwrap();
    for (token, mode, said) in [
        ("short", 0o600, "at least 16 characters"),
        (TOKEN, 0o604, "every user of this machine"),
    ] {
        let file = token_file(&folder, token, mode);
        let refused = output(
            &shop.url,
            &["serve", "--kick-token", file.to_str().unwrap()],
        );
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(text(&refused.stderr).contains(said), "{refused:?}");
    }
}

fn token_file(folder: &tempfile::TempDir, token: &str, mode: u32) -> PathBuf {
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{token}\n")).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    file
}

#[test]
fn it_asks_only_while_somebody_watches() {
    let _watch = real_time();
    let shop = Shop::open();
    let page = Page::every("2s", &shop.url, &[]);
    let looks = || shop.redis.calls("scan");
    assert_eq!(page.ask("GET /").0, 200);
    assert_eq!(looks(), 0);
    // The first answer is not empty, because it comes after a read.
    let listed = parsed(&page.ask("GET /api/ls").2);
    assert_eq!(listed["locks"].as_array().unwrap().len(), 3);
    // While nobody watches, the end of the interval brings no other read.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert_eq!(looks(), 1);
    let page = Page::start(&shop.url, &[]);
    let mut stream = TcpStream::connect(&page.address).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    eventually("it looks again and again", || looks() > 5);
    drop(stream);
    let pause = std::time::Duration::from_millis(300);
    eventually("it looks no more", || {
        let before = looks();
        std::thread::sleep(pause);
        looks() == before
    });
}

#[test]
fn what_is_not_known_is_not_said() {
    let shop = Shop::open();
    let page = Page::start(&shop.url, &[]);
    assert_eq!(page.ask("GET /api/ls").0, 200);
    shop.redis.kill9();
    eventually("it has no answer", || page.ask("GET /api/ls").0 == 502);
    let (status, _, answer) = page.ask("GET /api/tree");
    assert_eq!(status, 502);
    assert!(parsed(&answer)["error"].is_string(), "{answer}");
    let (status, _, metrics) = page.ask("GET /metrics");
    assert!(
        status == 200 && metrics.contains("auto_mutex_store_up 0\n"),
        "{metrics}"
    );
    assert!(!metrics.contains("kind="), "{metrics}");
    shop.redis.start_again();
    eventually("it has one again", || page.ask("GET /api/ls").0 == 200);
}

/// The answer doesn't wait for the store, which would take longer than any scrape.
#[test]
fn metrics_are_there_while_the_store_hangs() {
    let _watch = real_time();
    let shop = Shop::open();
    let page = Page::start(&shop.url, &["--timeout", "1h"]);
    let asks = || page.ask("GET /metrics").2;
    assert!(asks().contains("auto_mutex_store_up 1\n"));
    shop.redis.stop();
    let mut stopped = asks();
    // An open page may have had an answer just before.
    while !stopped.contains("auto_mutex_store_up 0\n") {
        stopped = asks();
    }
    let state = std::fs::read_to_string(format!("/proc/{}/stat", shop.redis.pid())).unwrap();
    let state = state.rsplit_once(") ").unwrap().1;
    assert!(state.starts_with('T'), "{state}");
    assert!(!stopped.contains("kind="), "{stopped}");
    shop.redis.cont();
    eventually("it is back", || asks().contains("auto_mutex_store_up 1\n"));
}

/// Connections whose client sends nothing end, so that others are served, also where they are too many.
#[test]
fn silent_connections_keep_nobody_out() {
    let _watch = real_time();
    let shop = Shop::open();
    let page = Page::start(&shop.url, &[]);
    let open = |page: &Page, count| -> Vec<_> {
        let streams = (0..count).map(|_| TcpStream::connect(&page.address).unwrap());
        streams.collect()
    };
    let idle = open(&page, 1000);
    assert_eq!(page.ask("GET /mode").0, 200);
    for mut stream in idle {
        let mut end = Vec::new();
        let _ = stream.read_to_end(&mut end);
    }
    let pid = i32::try_from(page.child.id()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let few = rustix::process::Rlimit {
        current: Some(60),
        maximum: Some(60),
    };
    rustix::process::prlimit(Some(pid), rustix::process::Resource::Nofile, few).unwrap();
    let _idle = open(&page, 100);
    assert_eq!(page.ask("GET /mode").0, 200);
}

/// Checks what a browser makes of the page.
#[test]
#[ignore = "needs Chromium: cargo test -p auto-mutex-cli --test real -- --ignored in_a_browser"]
fn the_table_and_the_tree_are_drawn_in_a_browser() {
    let shop = Shop::open();
    // A chain of four processes.
    let mut chain: Vec<_> = (0..4)
        .map(|number| Other::start(&shop.url, &format!("link:{number}")))
        .collect();
    for (number, other) in chain.iter_mut().skip(1).enumerate() {
        let name = format!("link:{number}");
        other.wants(&name);
        are_waiting(&shop.url, &name, 1);
    }
    let page = Page::start(&shop.url, &[]);
    let folder = tempfile::tempdir().unwrap();
    let output = std::process::Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu"])
        .arg("--virtual-time-budget=4000")
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg("--dump-dom")
        .arg(format!("http://{}/", page.address))
        .output()
        .expect("chromium on the PATH");
    let drawn = String::from_utf8_lossy(&output.stdout);
    let (table, tree) = drawn.split_once("Chains of waits").expect("the page");
    for part in [
        "orders:7</button>",
        "pool</button>",
        "book</button>",
        "1 reader",
    ] {
        assert!(table.contains(part), "{part}: {drawn}");
    }
    let me = std::process::id().to_string();
    for part in ["<svg", "orders:7", me.as_str(), "place 2"] {
        assert!(tree.contains(part), "{part}: {drawn}");
    }
    for other in &chain {
        assert!(
            tree.contains(&format!(":{}</text>", other.pid())),
            "{drawn}"
        );
    }
    // Each chain is whole on a screen of 1280 pixels, whose page leaves 16 at each side.
    let widths = tree.split("<svg width=\"").skip(1);
    for width in widths.map(|rest| rest.split('"').next().unwrap()) {
        assert!(width.parse::<u32>().unwrap() <= 1280 - 32, "{width}");
    }
    assert!(table.contains("read ") && table.contains(" ago"), "{table}");
}
