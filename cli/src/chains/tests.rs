//! Tests of chains. The locks are read from stores in this process. Each holder and waiter then gets the host name from
//! the test: different host names stand for different processes.

use std::sync::atomic::{AtomicU32, Ordering};

use auto_mutex::operator::Operator;

use super::*;

/// Returns the URL of a new memory store. Tests run at the same time, so each lock has a store of its own.
fn store(what: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("memory://{what}-{number}")
}

/// Makes a lock from each line like `LOCK: HOLDER < WAITER WAITER`. The lock is read by an operator, and then edited.
fn locks(lines: &[&str]) -> Vec<Lock> {
    lines.iter().map(|line| lock(line)).collect()
}

fn lock(line: &str) -> Lock {
    let (name, rest) = line.split_once(": ").unwrap();
    let (holders, waiters) = rest.split_once('<').unwrap_or((rest, ""));
    let (holders, waiters): (Vec<_>, Vec<_>) = (
        holders.split_whitespace().collect(),
        waiters.split_whitespace().collect(),
    );
    let url = store("chains");
    let client = auto_mutex::Client::connect(url.as_str()).unwrap();
    let permits = u32::try_from(holders.len().max(1)).unwrap();
    let semaphore = client.semaphore(name, permits).block("0s");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut held = Vec::new();
        for _ in &holders {
            held.push(semaphore.acquire().await.unwrap());
        }
        let operator = Operator::connect(url.as_str()).unwrap();
        let template = operator.inspect(&[name]).unwrap().remove(0).unwrap();
        let mut found = template.clone();
        found.kind = Some(LockKind::Mutex);
        for (hold, who) in found.holders.iter_mut().zip(&holders) {
            let process = hold.who.as_mut().unwrap();
            (process.host, process.pid) = ((*who).to_owned(), 1);
        }
        found.waiters = waiters_of(&waiters).await;
        found
    })
}

/// Returns real waiters of a lock, with these host names.
async fn waiters_of(names: &[&str]) -> Vec<Wait> {
    let mut waiters = Vec::new();
    for (index, who) in names.iter().enumerate() {
        let url = store("waiters");
        let holder = auto_mutex::Client::connect(url.as_str()).unwrap();
        let _guard = holder.mutex("m").lock().await.unwrap();
        let other = auto_mutex::Client::connect(url.as_str()).unwrap();
        let waiting = tokio::spawn(async move { other.mutex("m").lock().await.map(drop) });
        let operator = Operator::connect(url.as_str()).unwrap();
        let mut wait = loop {
            tokio::task::yield_now().await;
            let lock = operator.inspect(&["m"]).unwrap().remove(0).unwrap();
            if let Some(wait) = lock.waiters.into_iter().next() {
                break wait;
            }
        };
        waiting.abort();
        let process = wait.who.as_mut().unwrap();
        (process.host, process.pid) = ((*who).to_owned(), 1);
        wait.place = u32::try_from(index).unwrap() + 1;
        waiters.push(wait);
    }
    waiters
}

/// The chains as lines: the root of a chain, then `DEPTH LOCK WAITER` for each of its hops.
fn shown(locks: &[Lock]) -> Vec<String> {
    let graph = Graph::new(locks);
    let chains = graph.chains();
    let mut lines = Vec::new();
    for chain in &chains {
        let root = chain.root.map_or("nobody", |root| party(root).0);
        lines.push(format!("{}{root}", if chain.cycle { "cycle " } else { "" }));
        for hop in Document::of(chain).hops {
            let waiter = hop
                .waiter
                .map_or_else(String::new, |waiter| waiter.process.host);
            lines.push(format!("{} {} {waiter}", hop.depth, hop.name));
        }
    }
    lines
}

#[test]
fn a_chain_begins_with_the_one_that_waits_for_nobody() {
    let locks = locks(&["b: Q < R", "a: P < Q S", "c: X"]);
    assert_eq!(shown(&locks), ["P", "0 a Q", "1 b R", "0 a S"]);
}

#[test]
fn a_cycle_is_marked_and_comes_once_with_what_hangs_on_it() {
    let locks = locks(&["a: P < Q", "b: Q < P R", "c: R < S"]);
    let lines = shown(&locks);
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.starts_with("cycle"))
            .count(),
        1
    );
    for hop in ["a Q", "b P", "b R", "c S"] {
        let count = lines.iter().filter(|line| line.ends_with(hop)).count();
        assert_eq!(count, 1, "{hop}: {lines:?}");
    }
}

#[test]
fn a_process_that_waits_behind_itself_is_no_cycle() {
    assert_eq!(shown(&locks(&["a: P < P Q"])), ["P", "0 a P", "0 a Q"]);
}

#[test]
fn the_way_to_a_process_begins_at_the_root() {
    let locks = locks(&["a: P < Q", "b: Q < R"]);
    let graph = Graph::new(&locks);
    let (path, cycle) = graph.path_to(("R", None, 1));
    let names: Vec<_> = path.iter().map(|step| step.0.name.as_str()).collect();
    assert_eq!((names, cycle), (vec!["a", "b"], false));
    let locks = self::locks(&["a: P < Q", "b: Q < P"]);
    let graph = Graph::new(&locks);
    assert!(graph.path_to(("P", None, 1)).1);
}
