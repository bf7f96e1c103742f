//! Runs the example, which `cargo test` has built, on two nodes that share a private Redis, if redis-server is
//! installed.

#[allow(dead_code, unreachable_pub)]
#[path = "../../../tests/src/real_time.rs"]
mod real_time;

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::thread;

use auto_mutex_examples::run::{Running, built, command, redis, terminate, url};

use self::real_time::real_time;

#[test]
fn each_tick_runs_on_one_of_two_nodes() {
    let _watch = real_time();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let Some(_redis) = redis(folder.path()) else {
        return;
    };
    let program = built("examples", "tokio_cron");
    let (sender, lines) = channel();
    let nodes = [0, 1].map(|_| {
        let mut node = Running::start(&mut command(&program, &url(folder.path())));
        let (id, sender) = (node.id(), sender.clone());
        let reader = thread::spawn(move || {
            while let Some(line) = node.next_line() {
                sender.send(line).expect("a test");
            }
            node.end().0
        });
        (id, reader)
    });
    drop(sender);

    let mut ticks = BTreeMap::new();
    let mut count = |line: String| {
        let tick = line
            .strip_prefix("tick ")
            .and_then(|it| it.split(':').next());
        if let Some(tick) = tick {
            *ticks.entry(tick.to_owned()).or_insert(0) += 1;
        }
        ticks.len()
    };
    while count(lines.recv().expect("nodes that run")) < 3 {}
    for (id, reader) in nodes {
        terminate(id);
        let status = reader.join().expect("no panic");
        assert!(status.success(), "{status}");
    }
    for line in &lines {
        count(line);
    }
    assert!(ticks.values().all(|runs| *runs == 1), "{ticks:?}");
}
