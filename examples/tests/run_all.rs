//! Runs every example of this package as a user would, and checks its output.
//!
//! `cargo test` builds the examples before it runs this. The examples run on memory. If redis-server is installed,
//! `cluster` also runs on a private Redis; `deadlock` and `leader` run only then. If PostgreSQL is installed, `cluster`
//! runs on it, too.

#[allow(dead_code, unreachable_pub)]
#[path = "../../tests/src/real_time.rs"]
mod real_time;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use self::real_time::real_time;

fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(2).expect("…/deps/run_all");
    let program: PathBuf = target.join("examples").join(name);
    assert!(
        program.exists(),
        "{} is not built: run `cargo test -p auto-mutex-examples`, or `cargo build --examples` first",
        program.display()
    );
    let mut command = Command::new(program);
    command
        .env_remove("AUTO_MUTEX_URL")
        .env_remove("AUTO_MUTEX_NAMESPACE")
        .stdin(Stdio::null());
    command
}

fn has_redis() -> bool {
    let version = Command::new("redis-server").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

#[track_caller]
fn text(output: &Output) -> String {
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

/// Runs an example, and returns its output; the example must succeed and its output must contain all of `lines`.
#[track_caller]
fn succeeds(command: &mut Command, lines: &[&str]) -> String {
    let output = command.output().expect("it starts");
    let said = text(&output);
    assert!(output.status.success(), "{}: {said}", output.status);
    for line in lines {
        assert!(said.contains(line), "{line:?} is missing in: {said}");
    }
    said
}

#[test]
fn quickstart_sync() {
    succeeds(
        &mut example("quickstart_sync"),
        &["store: memory://", "60 of 100 left"],
    );
}

#[test]
fn acl() {
    succeeds(
        &mut example("acl"),
        &[
            "ACL SETUSER locks reset on >PASSWORD resetkeys ~auto_mutex:* ",
            " +evalsha ",
        ],
    );
    let mut command = example("acl");
    command.args(["redis-sentinel://host/service", "sam", "--least"]);
    let said = succeeds(
        &mut command,
        &["on each sentinel:\nACL SETUSER sam reset on >PASSWORD resetkeys"],
    );
    assert!(!said.contains("config|get"), "{said}");
}

#[test]
fn quickstart_async() {
    succeeds(
        &mut example("quickstart_async"),
        &["added 1 to 20: 210", "of its own: true", "released: true"],
    );
}

#[test]
fn readers_writer() {
    succeeds(
        &mut example("readers_writer"),
        &["every reader saw a whole ledger"],
    );
}

#[test]
fn several_locks() {
    succeeds(
        &mut example("several_locks"),
        &["transfers, ", "together 400"],
    );
}

#[test]
fn job_queue() {
    succeeds(
        &mut example("job_queue"),
        &["12 jobs done, 12 of them different"],
    );
}

#[test]
fn key_per_argument() {
    succeeds(
        &mut example("key_per_argument"),
        &[
            "ada: 1 at a time",
            "bob: 1 at a time",
            "eve: 1 at a time",
            "all together: up to",
        ],
    );
}

#[test]
fn on_timeout() {
    let said = succeeds(
        &mut example("on_timeout"),
        &[
            "no handler: error: lock `report` not obtained within",
            "held by report at examples/on_timeout.rs:",
            "somebody else writes month 5",
            "month 5: try again",
            "Ok(None)",
        ],
    );
    assert_eq!(said.matches("report of month 5").count(), 5, "{said}");
}

#[test]
fn cron_job() {
    let _watch = real_time();
    let said = succeeds(&mut example("cron_job"), &["5 nodes"]);
    assert_eq!(said.matches("cleans up").count(), 3, "{said}");
    assert_eq!(said.matches("ran 1 time(s)").count(), 3, "{said}");
}

#[test]
fn deadlock_on_redis() {
    let _watch = real_time();
    if !has_redis() {
        eprintln!("skipped: no redis-server on the PATH");
        return;
    }
    let said = succeeds(
        &mut example("deadlock"),
        &[
            "WARN auto_mutex::acquire: a deadlock: these calls wait for each other",
            "pay    gives up: lock `",
            "count  fails, and tries again: deadlock: ",
        ],
    );
    let cycle = [
        "(deadlock::jobs::count, examples/deadlock/jobs.rs:",
        "has held deadlock-",
        "waited for deadlock-",
        "(deadlock::jobs::look_at, examples/deadlock/jobs.rs:",
        "; ",
        "(deadlock::jobs::pay, examples/deadlock/jobs.rs:",
        "(deadlock::jobs::reserve, examples/deadlock/jobs.rs:",
    ];
    let is_described = |line: &str| cycle.iter().all(|part| line.contains(part));
    let is_warning = |line: &&str| line.contains("WARN") && line.contains("fails=false");
    let mut warnings = said.lines().filter(is_warning);
    assert!(warnings.next().is_some_and(is_described), "{said}");
    assert_eq!(warnings.next(), None, "{said}");
    assert_eq!(said.matches("fails, and tries again").count(), 1, "{said}");
    assert_eq!(said.matches("is done").count(), 3, "{said}");
}

#[test]
fn those_that_need_a_redis_say_so() {
    for name in ["deadlock", "leader"] {
        let output = example(name).env("PATH", "/nowhere").output();
        let output = output.expect("it starts");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(complaint.contains("no redis-server"), "{complaint}");
    }
}

#[test]
fn leader_on_redis() {
    let _watch = real_time();
    if !has_redis() {
        eprintln!("skipped: no redis-server on the PATH");
        return;
    }
    let said = succeeds(
        &mut example("leader"),
        &[
            "show     kills the leader (kill -9)",
            "show     sends SIGTERM to the leader",
            "watcher  nobody leads",
            "take-over after kill -9  ",
            "take-over after SIGTERM  ",
            "result: three terms, each with a greater number",
        ],
    );
    for (line, count) in [
        ("  stands for the lead", 3),
        ("  leads, term ", 3),
        (".example:9000 leads (process ", 3),
        // The one that was killed says nothing.
        ("  stops working", 2),
    ] {
        assert_eq!(said.matches(line).count(), count, "{line}: {said}");
    }
    assert!(is_plain(&said), "{said}");
}

/// What the last lines of `cluster` must contain, on any store.
const ONE_AT_A_TIME: &[&str] = &[
    "while inside",
    "takes over",
    "worker 1  ",
    "overlaps seen by witness    0\n",
    "longest wait  ",
    "to take-over  ",
    "each greater than the one before",
    "result: one at a time",
];

/// Checks the output for something that is no terminal: no escape sequences, and no line wider than 80 columns.
fn is_plain(said: &str) -> bool {
    !said.contains('\x1b') && said.lines().all(|line| line.chars().count() <= 80)
}

#[test]
fn cluster_on_redis() {
    let _watch = real_time();
    if !has_redis() {
        eprintln!("skipped: no redis-server on the PATH");
        return;
    }
    let place = tempfile::tempdir().expect("a temporary folder");
    let file = place.path().join("timeline.svg");
    let said = succeeds(example("cluster").arg("--svg").arg(&file), ONE_AT_A_TIME);
    assert!(said.contains("worker 2 is killed (SIGKILL)"), "{said}");
    assert!(said.contains("from kill to take-over"), "{said}");
    assert!(is_plain(&said), "{said}");

    let picture = std::fs::read_to_string(file).expect("the picture");
    assert!(picture.starts_with("<svg "), "{picture}");
    assert!(picture.ends_with("</svg>\n"), "{picture}");
    for text in [
        "process 1",
        "process 2",
        "process 3",
        "killed",
        "0 s",
        "8 s",
    ] {
        assert!(picture.contains(&format!(">{text}</text>")), "{picture}");
    }
    assert_eq!(picture.matches("<path ").count(), 1, "one kill: {picture}");
}

#[test]
fn cluster_on_postgres() {
    let _watch = real_time();
    let place = tempfile::tempdir().expect("a temporary folder");
    let mut command = example("cluster");
    // PostgreSQL may be somebody else's process, which must find its folder.
    open_to_all(place.path());
    let output = command.arg("--postgres").env("TMPDIR", place.path());
    let output = output.output().expect("it starts");
    if String::from_utf8_lossy(&output.stderr).contains("is not installed") {
        eprintln!("skipped: PostgreSQL is not installed");
        return;
    }
    let said = text(&output);
    assert!(output.status.success(), "{}: {said}", output.status);
    let all = ["a PostgreSQL of our own", "worker 2 is killed (SIGKILL)"];
    for line in ONE_AT_A_TIME.iter().chain(&all) {
        assert!(said.contains(line), "{line:?} is missing in: {said}");
    }
    assert!(is_plain(&said), "{said}");
    let left: Vec<_> = place.path().read_dir().expect("it is there").collect();
    assert!(left.is_empty(), "{left:?}");
}

fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let all = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(folder, all).expect("my folder");
}

#[test]
fn the_show_names_what_it_lacks() {
    let mut command = example("cluster");
    command.arg("--postgres").env("AUTO_MUTEX_URL", "redis://h");
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not the URL of a PostgreSQL"), "{said}");
}

#[test]
fn cluster_without_redis() {
    let _watch = real_time();
    let said = succeeds(example("cluster").env("PATH", "/nowhere"), ONE_AT_A_TIME);
    assert!(said.contains("memory:// in this process"), "{said}");
    assert!(said.contains("worker 2 is abandoned"), "{said}");
    assert!(!said.contains("killed ("), "{said}");
    assert!(is_plain(&said), "{said}");
}

#[test]
fn cluster_without_the_lock_is_caught_by_the_witness() {
    let _watch = real_time();
    let output = example("cluster").arg("--unprotected").output();
    let output = output.expect("it starts");
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("overlaps seen by witness"), "{said}");
    assert!(!said.contains("witness    0\n"), "{said}");
    assert!(said.contains("FAILED"), "{said}");
}

#[test]
fn an_interrupted_cluster_tidies_up() {
    let place = tempfile::tempdir().expect("a temporary folder");
    let mut show = example("cluster")
        .env("TMPDIR", place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut output = BufReader::new(show.stdout.take().expect("a pipe")).lines();
    assert!(
        output.any(|line| line.is_ok_and(|line| line.contains("enters"))),
        "nobody entered"
    );
    let pid = rustix::process::Pid::from_child(&show);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
    // The pipe closes only when the workers have ended too.
    output.for_each(drop);
    let status = show.wait().expect("it ends");
    let mut complaint = String::new();
    let mut stderr = show.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut complaint).expect("UTF-8");
    assert!(!status.success());
    assert_eq!(complaint, "cluster: interrupted\n");
    let left: Vec<_> = place.path().read_dir().expect("it is there").collect();
    assert!(left.is_empty(), "{left:?}");
}
