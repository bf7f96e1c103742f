//! The child's side: reads lines, uses locks, and reports.

use std::collections::HashMap;
use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use auto_mutex::{Client, Config, Deadlock, LockError};
use tokio::sync::mpsc;

use super::contest;
use super::guards::Held;
use super::lead;
use crate::runtimes::multi_thread;

/// A request to the task that keeps a guard.
enum Ask {
    Unlock,
    Drop,
    Check,
}

/// How the process ends.
enum End {
    Return,
    Exit,
    Abort,
    Finish(String),
}

/// Applies an option of the command line: `deadlock=SECONDS` (a deadlock fails after this time),
/// `store_timeout=SECONDS`, `longest_lease=SECONDS`, `retain=SECONDS`, `replicas=COUNT:SECONDS`, `guarded`,
/// `unguarded`.
pub fn configure(config: Config, word: &str) -> Config {
    match word.split_once('=') {
        Some(("store_timeout", seconds)) => config.store_timeout(self::seconds(seconds)),
        Some(("deadlock", seconds)) => config
            .deadlock(Deadlock::Fail)
            .deadlock_after(self::seconds(seconds)),
        Some(("longest_lease", seconds)) => config.longest_lease(self::seconds(seconds)),
        Some(("retain", seconds)) => config.retain(self::seconds(seconds)),
        None if word == "guarded" => config.restart_guard(true),
        None if word == "unguarded" => config.trust_failover(true),
        Some(("replicas", both)) => {
            let (count, seconds) = both.split_once(':').expect("COUNT:SECONDS");
            config.replicas(count.parse().expect("a number"), self::seconds(seconds))
        }
        _ => panic!("no such option: {word:?}"),
    }
}

pub(super) fn seconds(text: &str) -> Duration {
    Duration::from_secs_f64(text.parse().expect("seconds"))
}

/// The program: `test-worker URL LEASE_MS OPTION…`.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(lease)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: test-worker URL LEASE_MS OPTION…");
        return ExitCode::from(2);
    };
    let lease = Duration::from_millis(lease.parse().expect("milliseconds"));
    let config = Config::new(url.as_str()).map(|config| {
        // The servers were just started, and no client has a longer lease, so no restart guard is needed.
        let config = config.namespace("suite").lease(lease);
        let config = config.longest_lease(lease).restart_guard(false);
        let config = config.connect_timeout(super::START);
        arguments.fold(config, |config, word| configure(config, &word))
    });
    if let Err(error) = config.and_then(auto_mutex::setup) {
        say(&format!("failed setup {error:?}"));
        return ExitCode::FAILURE;
    }
    let client = auto_mutex::client().expect("just set up");
    say("ready");
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let runtime = multi_thread();
    let (end, guards) = runtime.block_on(serve(client.clone(), lines));
    match end {
        End::Abort => std::process::abort(),
        End::Exit => std::process::exit(0),
        // Drops the runtime first, so that nothing but the guard's drop precedes the return.
        End::Finish(name) => {
            drop(runtime);
            let guard = client.mutex(&name).blocking_lock().expect("the lock");
            say(&format!("got {name} {}", guard.fencing_token()));
            drop(guard);
        }
        End::Return => {
            drop(runtime);
            drop(guards);
        }
    }
    ExitCode::SUCCESS
}

type Guards = HashMap<String, mpsc::UnboundedSender<Ask>>;

async fn serve(client: Client, mut lines: mpsc::UnboundedReceiver<String>) -> (End, Guards) {
    let (got, mut gotten) = mpsc::unbounded_channel();
    let mut guards = Guards::new();
    loop {
        let line = tokio::select! {
            biased;
            Some((name, guard)) = gotten.recv() => {
                guards.insert(name, guard);
                continue;
            }
            line = lines.recv() => line,
        };
        let Some(line) = line else {
            return (End::Return, guards);
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["lock" | "acquire", name, ..] => {
                start(client.clone(), name, line.clone(), got.clone());
            }
            ["try", name] => match client.mutex(name).try_lock().await {
                Ok(Some(guard)) => hold(name, Held::Mutex(guard), &got),
                Ok(None) => say(&format!("busy {name}")),
                Err(error) => say(&format!("failed {name} {error:?}")),
            },
            ["wait", name] => {
                tokio::spawn(wait(client.clone(), name.to_owned()));
            }
            ["lead", name, ref options @ ..] => lead::start(&client, name, options),
            ["unlock", name] => ask(&guards, name, Ask::Unlock),
            ["drop", name] => ask(&guards, name, Ask::Drop),
            ["check", name] => ask(&guards, name, Ask::Check),
            ["log"] => {
                // The text is discarded, but the subscriber still formats it in thread-locals.
                tracing_subscriber::fmt()
                    .with_max_level(tracing::Level::TRACE)
                    .with_writer(std::io::sink)
                    .init();
                // Creates the thread-locals on this thread as well. They are destroyed at the end of the process, which
                // this thread causes.
                tracing::info!("from now on");
                say("ok");
            }
            ["brittle"] => {
                std::panic::set_hook(Box::new(|_| std::process::abort()));
                say("ok");
            }
            ["termination"] => {
                auto_mutex::release_on_termination().expect("a signal handler");
                say("ok");
            }
            ["termination", limit] => {
                let limit = seconds(limit);
                auto_mutex::release_on_termination_within(limit).expect("a signal handler");
                say("ok");
            }
            ["drain", limit] => {
                let limit = seconds(limit);
                tokio::spawn(async move {
                    let drained = auto_mutex::drain(limit).await.expect("a limit");
                    for left in &drained.left {
                        say(&format!("left {}", left.name));
                    }
                    say(&format!("drained {}", drained.is_complete()));
                });
            }
            [
                "contest",
                kind,
                name,
                millis,
                tasks,
                port,
                seed,
                ref rest @ ..,
            ] => {
                let number = |text: &str| text.parse().expect("a number");
                let (pause, stay) = match rest {
                    [pause, stay] => (number(pause), number(stay)),
                    _ => (0, 0),
                };
                let contest = contest::Contest {
                    kind: kind.parse().expect("a kind of contest"),
                    name: name.to_owned(),
                    duration: Duration::from_millis(millis.parse().expect("milliseconds")),
                    tasks: tasks.parse().expect("a number"),
                    witness: port.parse().expect("a port"),
                    seed: seed.parse().expect("a number"),
                    file: match rest {
                        [file] => Some((*file).into()),
                        _ => None,
                    },
                    pause,
                    stay,
                };
                contest.run(&client, enough(&mut lines)).await;
            }
            // The contest had already ended, because other workers had closed the belt.
            ["enough"] => {}
            ["again", url] => match auto_mutex::setup(url) {
                Ok(()) => say("ok"),
                Err(error) => say(&format!("failed again {error:?}")),
            },
            ["shutdown"] => {
                auto_mutex::shutdown().await;
                say("ok");
            }
            ["return"] => return (End::Return, guards),
            ["exit"] => return (End::Exit, guards),
            ["abort"] => return (End::Abort, guards),
            ["finish", name] => return (End::Finish(name.to_owned()), guards),
            _ => say(&format!("failed command {line:?}")),
        }
    }
}

/// Returns when the test wants the contest to end early.
async fn enough(lines: &mut mpsc::UnboundedReceiver<String>) {
    match lines.recv().await.as_deref() {
        Some("enough") => {}
        Some(line) => panic!("{line:?} during a contest"),
        // The test has ended without its workers, as it does when it hangs.
        None => std::process::exit(1),
    }
}

type Got = mpsc::UnboundedSender<(String, mpsc::UnboundedSender<Ask>)>;

fn start(client: Client, name: &str, line: String, got: Got) {
    let name = name.to_owned();
    tokio::spawn(async move {
        match Held::take(&client, &line).await {
            Ok(held) => hold(&name, held, &got),
            Err(error) => say(&format!("failed {name} {error:?}")),
        }
    });
}

async fn wait(client: Client, name: String) {
    let waited = async {
        let guard = client.mutex(&name).lock().await?;
        say(&format!("waits {name}"));
        client.condvar(&name).wait(guard).await
    };
    match waited.await {
        Ok(guard) => {
            say(&format!("woken {name}"));
            drop(guard);
        }
        Err(error) => say(&format!("failed {name} {error:?}")),
    }
}

/// Starts a task that keeps the guard. The guard is registered before it is reported, so that the next line can name
/// it.
fn hold(name: &str, guard: Held, got: &Got) {
    let (sender, asks) = mpsc::unbounded_channel();
    let _ = got.send((name.to_owned(), sender));
    say(&format!("got {name} {}", guard.fencing_token()));
    tokio::spawn(keep(name.to_owned(), guard, asks));
}

async fn keep(name: String, guard: Held, mut asks: mpsc::UnboundedReceiver<Ask>) {
    let mut told = false;
    loop {
        let ask = tokio::select! {
            () = guard.lost(), if !told => {
                told = true;
                say(&format!("loss {name}"));
                continue;
            }
            ask = asks.recv() => ask,
        };
        match ask {
            Some(Ask::Unlock) => {
                match guard.unlock().await {
                    Ok(truth) => say(&format!("unlocked {name} {truth}")),
                    Err(error) => say(&format!("failed {name} {error:?}")),
                }
                return;
            }
            Some(Ask::Drop) => {
                drop(guard);
                say(&format!("dropped {name}"));
                return;
            }
            Some(Ask::Check) => match guard.check() {
                Ok(()) => say(&format!("held {name}")),
                Err(LockError::Lost { .. }) => say(&format!("lost {name}")),
                Err(error) => say(&format!("failed {name} {error:?}")),
            },
            None => return,
        }
    }
}

fn ask(guards: &Guards, name: &str, ask: Ask) {
    let heard = guards
        .get(name)
        .is_some_and(|guard| guard.send(ask).is_ok());
    if !heard {
        say(&format!("failed {name} no guard"));
    }
}

/// Writes one line to the test, at once.
pub(super) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
