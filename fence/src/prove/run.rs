//! One run: the write of one holder or of both, statement by statement, in an order that somebody chooses.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::error::{ProveError, Step, Who};
use super::proxy;
use super::server::{Contents, Observer, Url};
use super::wire::{Answer, Message};
use crate::Token;

/// When to ask the server whether a statement waits for a lock. Its answer decides, not the time.
const ASK: Duration = Duration::from_millis(1);

/// How a run ended.
pub(super) struct Outcome {
    pub(super) contents: Contents,
    pub(super) results: [Option<Result<(), String>>; 2],
    /// Whether the server refused a statement of the newer holder.
    pub(super) refused: bool,
    pub(super) steps: Vec<Step>,
}

/// Lets `writers` write. Where several can go on, `choose` says which.
pub(super) async fn run<T, E: Display>(
    url: &Arc<Url>,
    writers: &[Who],
    write: &impl AsyncFn(String, Token) -> Result<T, E>,
    choose: &mut dyn FnMut(&[Who]) -> Who,
) -> Result<Outcome, ProveError> {
    let server = Observer::connect(url).await?;
    let run = Arc::new(Run::default());
    let writing = async |who: Who| {
        let mut result = None;
        if writers.contains(&who) {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            let through = url.through(listener.local_addr()?.port());
            let mut proxy = JoinSet::new();
            proxy.spawn(proxy::serve(run.clone(), who, listener, url.clone()));
            let wrote = write(through, who.token()).await;
            let wrote = wrote.map(drop).map_err(|error| format!("{error:#}"));
            run.returned(who, &wrote);
            result = Some(wrote);
            // What it has not committed is rolled back before anything else happens.
            proxy.shutdown().await;
            server.end(&run.processes(who)).await?;
        }
        run.change(|state| state.over[who as usize] = true);
        Ok(result)
    };
    let (older, newer, ()) = tokio::try_join!(
        writing(Who::Older),
        writing(Who::Newer),
        run.schedule(&server, choose)
    )?;
    let contents = server.contents().await?;
    let mut state = run.state();
    Ok(Outcome {
        contents,
        results: [older, newer],
        refused: state.refused[1],
        steps: std::mem::take(&mut state.steps),
    })
}

/// What the connections of both writers report, and where their statements wait.
#[derive(Default)]
pub(super) struct Run {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    connections: Vec<Connection>,
    over: [bool; 2],
    refused: [bool; 2],
    steps: Vec<Step>,
    /// Grows with each change: an answer of the server may be outdated.
    version: u64,
}

struct Connection {
    who: Who,
    process: i32,
    held: Option<oneshot::Sender<()>>,
    running: Option<Running>,
    /// The server ignores all until a `Sync`.
    failed: bool,
    outcome: String,
}

struct Running {
    answer: Answer,
    step: Option<usize>,
    waits: bool,
    done: oneshot::Sender<()>,
}

impl State {
    fn of(&self, who: Who) -> impl Iterator<Item = &Connection> {
        self.connections
            .iter()
            .filter(move |connection| connection.who == who)
    }

    /// Whether nothing more happens until a statement is let through or a lock is released.
    fn is_settled(&self, who: Who) -> bool {
        let mut running = self
            .of(who)
            .filter_map(|connection| connection.running.as_ref());
        let begun = self
            .of(who)
            .any(|it| it.held.is_some() || it.running.is_some());
        self.over[who as usize] || (begun && running.all(|running| running.waits))
    }

    /// Who can go on, if both are settled.
    fn able(&self) -> Vec<Who> {
        let able =
            |who: &Who| !self.over[*who as usize] && self.of(*who).any(|it| it.held.is_some());
        match Who::BOTH.iter().all(|who| self.is_settled(*who)) {
            true => Who::BOTH.into_iter().filter(able).collect(),
            false => Vec::new(),
        }
    }

    fn running(&self) -> impl Iterator<Item = (i32, Who)> {
        let running = self
            .connections
            .iter()
            .filter(|connection| connection.running.is_some());
        running.map(|connection| (connection.process, connection.who))
    }

    fn answered(&mut self, at: usize) {
        let connection = &mut self.connections[at];
        let outcome = std::mem::take(&mut connection.outcome);
        let Some(Running { step, done, .. }) = connection.running.take() else {
            return;
        };
        let _ = done.send(());
        let Some(step) = step else { return };
        if self.steps[step].outcome.is_empty() {
            self.steps[step].outcome = outcome;
        } else {
            let statement = format!("(goes on) {}", self.steps[step].statement);
            self.steps.push(Step {
                who: connection.who,
                statement,
                outcome,
            });
        }
    }
}

impl Run {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        state.version += 1;
        let result = change(&mut state);
        self.changed.notify_one();
        result
    }

    fn processes(&self, who: Who) -> Vec<i32> {
        self.state()
            .of(who)
            .map(|connection| connection.process)
            .collect()
    }

    fn returned(&self, who: Who, result: &Result<(), String>) {
        let outcome = match result {
            Ok(()) => "Ok".to_owned(),
            Err(error) => format!("Err: {error}"),
        };
        self.change(|state| {
            state.steps.push(Step {
                who,
                statement: "returns".to_owned(),
                outcome,
            })
        });
    }

    /// A new connection, by whose number it reports.
    pub(super) fn opened(&self, who: Who) -> usize {
        self.change(|state| {
            state.connections.push(Connection {
                who,
                process: 0,
                held: None,
                running: None,
                failed: false,
                outcome: String::new(),
            });
            state.connections.len() - 1
        })
    }

    /// Waits until a unit may be sent to the server. The result becomes ready when the server has answered it.
    pub(super) async fn turn(
        &self,
        at: usize,
        statement: Option<String>,
        answer: Answer,
    ) -> oneshot::Receiver<()> {
        let failed = self.state().connections[at].failed;
        let statement = statement.filter(|statement| !failed && !reads_catalog(statement));
        if statement
            .as_ref()
            .is_some_and(|statement| !touches_nothing(statement))
        {
            let (go, gone) = oneshot::channel();
            self.change(|state| state.connections[at].held = Some(go));
            let _ = gone.await;
        }
        let (done, answered) = oneshot::channel();
        if answer == Answer::Nothing || (failed && answer == Answer::Done) {
            let _ = done.send(());
            return answered;
        }
        self.change(|state| {
            let connection = &mut state.connections[at];
            let step = statement.map(|statement| {
                state.steps.push(Step {
                    who: connection.who,
                    statement,
                    outcome: String::new(),
                });
                state.steps.len() - 1
            });
            connection.running = Some(Running {
                answer,
                step,
                waits: false,
                done,
            });
        });
        answered
    }

    /// The server has sent a message.
    pub(super) fn received(&self, at: usize, message: &Message) {
        self.change(|state| {
            let connection = &mut state.connections[at];
            let kind = message.kind();
            match kind {
                b'K' => connection.process = message.process().unwrap_or_default(),
                b'C' => connection.outcome = message.texts().next().unwrap_or_default(),
                b'E' => {
                    connection.outcome = message.error();
                    connection.failed = true;
                    state.refused[connection.who as usize] = true;
                }
                b'Z' => connection.failed = false,
                _ => {}
            }
            let answer = connection
                .running
                .as_ref()
                .map_or(Answer::Nothing, |running| running.answer);
            let ends = match answer {
                Answer::Nothing => false,
                Answer::Ready => matches!(kind, b'Z' | b'G'),
                Answer::Done => matches!(kind, b'C' | b'I' | b's' | b'E' | b'G'),
            };
            if ends {
                state.answered(at);
            }
        });
    }

    pub(super) fn closed(&self, at: usize) {
        self.change(|state| {
            state.connections[at].held = None;
            state.answered(at);
        });
    }

    async fn schedule(
        &self,
        server: &Observer,
        choose: &mut dyn FnMut(&[Who]) -> Who,
    ) -> Result<(), ProveError> {
        loop {
            let (version, running, thinks) = {
                let state = self.state();
                if state.over == [true; 2] {
                    return Ok(());
                }
                let running: Vec<_> = state.running().collect();
                let thinks =
                    |who: &Who| !state.is_settled(*who) && !running.iter().any(|(_, of)| of == who);
                (state.version, running.clone(), Who::BOTH.iter().any(thinks))
            };
            if thinks {
                self.changed.notified().await;
                continue;
            }
            if !running.is_empty() {
                if timeout(ASK, self.changed.notified()).await.is_ok() {
                    continue;
                }
                let processes: Vec<_> = self
                    .state()
                    .connections
                    .iter()
                    .map(|it| it.process)
                    .collect();
                let blocked = server.blocked(&processes).await?;
                let mut state = self.state();
                if state.version != version {
                    continue;
                }
                state.mark(&blocked);
            }
            let able = self.state().able();
            if !able.is_empty() {
                let who = choose(&able);
                self.change(|state| {
                    let mut held = state
                        .connections
                        .iter_mut()
                        .filter(|it| it.who == who)
                        .filter_map(|it| it.held.take());
                    held.next().map(|go| go.send(()))
                });
            }
        }
    }
}

impl State {
    fn mark(&mut self, blocked: &[i32]) {
        for connection in &mut self.connections {
            let Some(running) = &mut connection.running else {
                continue;
            };
            running.waits = blocked.contains(&connection.process);
            if let (true, Some(step)) = (running.waits, running.step) {
                self.steps[step].outcome = "waits for a lock".to_owned();
            }
        }
    }
}

/// Whether a statement is of the driver, which asks for the types of values.
fn reads_catalog(statement: &str) -> bool {
    let statement = statement.to_ascii_lowercase();
    statement.starts_with("select") && statement.contains("from pg_catalog.pg_")
}

/// Whether it makes no difference when a statement runs.
fn touches_nothing(statement: &str) -> bool {
    const WORDS: [&str; 9] = [
        "",
        "begin",
        "deallocate",
        "discard",
        "reset",
        "savepoint",
        "set",
        "show",
        "start",
    ];
    let statement = statement.trim_end_matches(';').to_ascii_lowercase();
    let first = statement.split(' ').next().unwrap_or_default();
    statement == "select 1" || (WORDS.contains(&first) && !statement.contains(';'))
}
