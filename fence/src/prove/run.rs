//! One run: the write of one holder or of both, statement by statement, in an order that somebody chooses.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::proxy::{serve, texts};
use super::server::{Contents, Observer, Result, Url};
use super::{Token, Who};

/// When to ask the server whether a statement waits for a lock. Its answer decides, not the time.
const ASK: Duration = Duration::from_millis(1);
const WAITS: &str = " -> waits for a lock";

/// How a run ended.
pub(super) struct Outcome {
    pub(super) contents: Contents,
    /// What was in the tables when the newer holder had written.
    pub(super) written: Contents,
    pub(super) failed: [bool; 2],
    /// Whose statements the server refused.
    pub(super) refused: [bool; 2],
    pub(super) steps: String,
}

/// Lets `writers` write. If both could go on, `choose` says who does.
pub(super) async fn run<T, E: Display>(
    url: &Arc<Url>,
    writers: &[Who],
    write: &impl AsyncFn(String, Token) -> std::result::Result<T, E>,
    choose: &mut dyn FnMut(&[Who]) -> Who,
) -> Result<Outcome> {
    let server = Observer::connect(url).await?;
    let run = Arc::new(Run::default());
    let writing = async |who: Who| {
        let mut failed = false;
        if writers.contains(&who) {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
            let through = url.through(listener.local_addr()?.port());
            let mut proxy = JoinSet::new();
            proxy.spawn(serve(run.clone(), who, listener, url.clone()));
            let error = write(through, who.token()).await.err();
            failed = error.is_some();
            let result = error.map_or("Ok".to_owned(), |error| format!("Err: {error:#}"));
            run.change(|state| state.step(who, &format!("returns {result}")));
            // What it has not committed is rolled back before anything else happens.
            proxy.shutdown().await;
            let processes = run.state().of(who).map(|it| it.process).collect::<Vec<_>>();
            server.end(&processes).await?;
        }
        let contents = server.contents().await?;
        run.change(|state| state.over[who as usize] = true);
        Ok((failed, contents))
    };
    let [older, newer] = Who::BOTH;
    let schedule = run.schedule(&server, choose);
    let ((older, _), (newer, written), ()) =
        tokio::try_join!(writing(older), writing(newer), schedule)?;
    let contents = server.contents().await?;
    let state = run.state();
    let (refused, steps) = (state.refused, state.steps.join("\n"));
    Ok(Outcome {
        contents,
        written,
        failed: [older, newer],
        refused,
        steps,
    })
}

/// What the connections of both writers do.
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
    steps: Vec<String>,
    /// Grows with each change, which makes an answer of the server outdated.
    version: u64,
}

struct Connection {
    who: Who,
    process: i32,
    /// A statement that waits for its turn.
    held: Option<oneshot::Sender<()>>,
    /// The server has not answered yet.
    is_busy: bool,
    /// It waits for a lock of another connection.
    waits: bool,
    step: Option<usize>,
    outcome: String,
}

impl State {
    fn of(&self, who: Who) -> impl Iterator<Item = &Connection> {
        self.connections.iter().filter(move |it| it.who == who)
    }

    /// Who can go on, if nothing else will happen.
    fn able(&self) -> Vec<Who> {
        let is_over = |who: Who| self.over[who as usize];
        let holds = |who: Who| self.of(who).any(|it| it.held.is_some()) && !is_over(who);
        let works = |who: Who| {
            let waits = self.of(who).any(|it| it.waits);
            !is_over(who) && !waits && (!holds(who) || self.of(who).any(|it| it.is_busy))
        };
        match Who::BOTH.into_iter().any(works) {
            true => Vec::new(),
            false => Who::BOTH.into_iter().filter(|who| holds(*who)).collect(),
        }
    }

    fn step(&mut self, who: Who, text: &str) -> usize {
        let words: Vec<_> = text.split_whitespace().collect();
        let who = format!("{who:?}").to_lowercase();
        self.steps.push(format!("  {who}  {}", words.join(" ")));
        self.steps.len() - 1
    }
}

impl Run {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        state.version += 1;
        state.connections.iter_mut().for_each(|it| it.waits = false);
        self.changed.notify_one();
        change(&mut state)
    }

    /// A new connection, by whose number it reports.
    pub(super) fn opened(&self, who: Who) -> usize {
        let connection = Connection {
            who,
            process: 0,
            held: None,
            is_busy: false,
            waits: false,
            step: None,
            outcome: String::new(),
        };
        self.change(|state| state.connections.push(connection));
        self.state().connections.len() - 1
    }

    /// Waits until a batch may be sent to the server.
    pub(super) async fn turn(&self, at: usize, statement: Option<String>, is_answered: bool) {
        let statement = statement.filter(|statement| !reads_catalog(statement));
        if statement.as_ref().is_some_and(|it| !touches_nothing(it)) {
            let (go, gone) = oneshot::channel();
            self.change(|state| state.connections[at].held = Some(go));
            let _ = gone.await;
        }
        self.change(|state| {
            let who = state.connections[at].who;
            let step = statement.map(|statement| state.step(who, &statement));
            let connection = &mut state.connections[at];
            connection.step = step.or(connection.step);
            connection.is_busy = is_answered;
        });
    }

    /// The server has sent a message. Returns whether it is the last of an answer.
    pub(super) fn received(&self, at: usize, message: &[u8]) -> bool {
        self.change(|state| {
            let connection = &mut state.connections[at];
            match message[0] {
                b'K' => {
                    connection.process =
                        i32::from_be_bytes(message[5..9].try_into().unwrap_or_default())
                }
                b'C' => connection.outcome = texts(message).next().unwrap_or_default(),
                b'E' => {
                    let fields: Vec<_> = texts(message).collect();
                    let of = |kind| {
                        fields
                            .iter()
                            .find_map(|it| it.strip_prefix(kind))
                            .unwrap_or_default()
                    };
                    connection.outcome = format!("error {}: {}", of('C'), of('M'));
                    state.refused[connection.who as usize] = true;
                }
                // The data of a `COPY` is next.
                b'G' => return std::mem::take(&mut connection.is_busy),
                b'Z' => {
                    let is_last = std::mem::take(&mut connection.is_busy);
                    let outcome = std::mem::take(&mut connection.outcome);
                    let Some(at) = connection.step.take() else {
                        return is_last;
                    };
                    match state.steps[at].strip_suffix(WAITS) {
                        Some(step) => state
                            .steps
                            .push(format!("{step} -> after the wait: {outcome}")),
                        None => state.steps[at] += &format!(" -> {outcome}"),
                    }
                    return is_last;
                }
                _ => {}
            }
            false
        })
    }

    async fn schedule(
        &self,
        server: &Observer,
        choose: &mut dyn FnMut(&[Who]) -> Who,
    ) -> Result<()> {
        loop {
            let (able, version, processes) = {
                let state = self.state();
                if state.over == [true; 2] {
                    return Ok(());
                }
                let processes = state.connections.iter().map(|it| it.process);
                (state.able(), state.version, processes.collect::<Vec<_>>())
            };
            if !able.is_empty() {
                let who = choose(&able);
                self.change(|state| {
                    let mut all = state.connections.iter_mut().filter(|it| it.who == who);
                    all.find_map(|it| it.held.take()).map(|go| go.send(()))
                });
            } else if timeout(ASK, self.changed.notified()).await.is_err() {
                let blocked = server.blocked(&processes).await?;
                self.mark(version, &blocked);
            }
        }
    }

    fn mark(&self, version: u64, blocked: &[i32]) {
        let state = &mut *self.state();
        if state.version != version {
            return;
        }
        for connection in &mut state.connections {
            connection.waits = blocked.contains(&connection.process);
            let step = connection.step.filter(|_| connection.waits);
            let step = step
                .map(|step| &mut state.steps[step])
                .filter(|step| !step.ends_with(WAITS));
            step.into_iter().for_each(|step| *step += WAITS);
        }
    }
}

/// Whether a statement is of the driver, which asks for the types of values.
fn reads_catalog(statement: &str) -> bool {
    let statement = statement.to_lowercase();
    statement.starts_with("select") && statement.contains("from pg_catalog.pg_")
}

/// Whether it makes no difference when a statement runs.
fn touches_nothing(statement: &str) -> bool {
    const WORDS: [&str; 8] = [
        "begin",
        "deallocate",
        "discard",
        "reset",
        "savepoint",
        "set",
        "show",
        "start",
    ];
    let statement = statement.trim().trim_end_matches(';').to_lowercase();
    let first = statement.split_whitespace().next().unwrap_or_default();
    statement.is_empty()
        || statement == "select 1"
        || (WORDS.contains(&first) && !statement.contains(';'))
}
