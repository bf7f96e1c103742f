//! Tests of `top` in a real terminal, that of tmux. Without tmux, the table is not tested.

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex_tests::events::eventually;

use super::rig::{Shop, output, text};

/// A tmux server with one terminal of 80 columns. The field is its socket's name.
struct Terminal(String);

impl Terminal {
    fn start(command: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let terminal = Self(format!("auto-mutex-{}-{number}", std::process::id()));
        let started = terminal.tmux(&["new-session", "-d", "-x", "80", "-y", "24", command]);
        assert!(started.status.success(), "{started:?}");
        terminal
    }

    fn tmux(&self, args: &[&str]) -> Output {
        let mut tmux = Command::new("tmux");
        tmux.args(["-f", "/dev/null", "-L", &self.0]).args(args);
        tmux.output().expect("tmux runs")
    }

    fn screen(&self) -> String {
        text(&self.tmux(&["capture-pane", "-p"]).stdout)
    }

    fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn it_shows_locks_and_obeys_keys() {
    if Command::new("tmux").arg("-V").output().is_err() {
        eprintln!("tmux is not here");
        return;
    }
    let shop = Shop::open();
    let program = env!("CARGO_BIN_EXE_auto-mutex");
    // The terminal outlives `top`, so that the test can see its content then.
    let command = format!(
        "AUTO_MUTEX_URL={} {program} top --every 100ms; echo it has ended; cat",
        shop.url
    );
    let terminal = Terminal::start(&command);
    eventually("the locks are shown", || {
        terminal.screen().contains("3 locks, 2 waiting")
    });
    let screen = terminal.screen();
    for part in ["orders:7", "pool", "book", "mutex", "place 2", "q quit"] {
        assert!(screen.contains(part), "{part}:\n{screen}");
    }
    terminal.keys(&["/", "pool", "Enter"]);
    eventually("others are filtered", || {
        !terminal.screen().contains("orders:7")
    });
    terminal.keys(&["?"]);
    eventually("help is shown", || {
        terminal.screen().contains("reverse the order")
    });
    terminal.keys(&["q"]);
    eventually("it ends", || terminal.screen().contains("it has ended"));
    // The terminal no longer shows the table.
    assert!(
        !terminal.screen().contains("locks, "),
        "{}",
        terminal.screen()
    );
}

#[test]
fn a_signal_gives_the_terminal_back() {
    if Command::new("tmux").arg("-V").output().is_err() {
        eprintln!("tmux is not here");
        return;
    }
    let shop = Shop::open();
    let program = env!("CARGO_BIN_EXE_auto-mutex");
    let folder = tempfile::tempdir().unwrap();
    let pid = folder.path().join("pid");
    let command = format!(
        "sh -c 'echo $$ >{}; AUTO_MUTEX_URL={} exec {program} top'; echo ended with $?; cat",
        pid.display(),
        shop.url
    );
    let terminal = Terminal::start(&command);
    eventually("the locks are shown", || {
        terminal.screen().contains("3 locks, 2 waiting")
    });
    let pid = std::fs::read_to_string(&pid).unwrap();
    auto_mutex_tests::process::terminate(pid.trim().parse().unwrap());
    eventually("it ends", || terminal.screen().contains("ended with 143"));
    assert!(
        !terminal.screen().contains("locks, "),
        "{}",
        terminal.screen()
    );
}

#[test]
fn it_needs_a_terminal() {
    let shop = Shop::open();
    assert_eq!(output(&shop.url, &["top"]).status.code(), Some(2));
}
