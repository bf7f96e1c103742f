//! One run: the write of one holder or of both, statement by statement, in an order that somebody chooses.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::mem::replace;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::relay::{Event, Report, serve};
use super::server::{NAME, Observer, Result, Url};
use super::{NEWER, OLDER, Token};

/// When to ask the server whether a statement waits for a lock. Its answer decides, not the time.
const ASK: Duration = Duration::from_millis(1);

/// How a run ended.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) steps: Vec<String>,
    /// What was in the tables when the newer holder had written.
    pub(super) written: Vec<String>,
    /// What was in them at the end.
    pub(super) contents: Vec<String>,
    pub(super) failed: [bool; 2],
    /// Whose statements the server refused.
    pub(super) refused: [bool; 2],
}

impl Outcome {
    fn step(&mut self, who: usize, statement: &str, outcome: &str) {
        let words: Vec<_> = statement.split_whitespace().collect();
        let (who, statement) = (["older", "newer"][who], words.join(" "));
        let step = format!("  {who}  {statement} -> {outcome}");
        // It waits since another step.
        if !outcome.starts_with("waits") || !self.steps.contains(&step) {
            self.steps.push(step);
        }
    }
}

/// Lets `writers` write. If both could go on, `choose` says who does.
pub(super) async fn run<T, E: Display>(
    url: &Url,
    writers: &[usize],
    write: &impl AsyncFn(String, Token) -> std::result::Result<T, E>,
    choose: &mut dyn FnMut() -> usize,
) -> Result<Outcome> {
    let server = Observer::connect(url).await?;
    let is_in_store = server.begin().await?;
    let token = |who: usize| {
        // As long as those of a store: a program that makes 32 bits or a `double` of them fails.
        let number = 4_000_000_000_000_000_001 + who as u64;
        let ticket = format!("{number:032}");
        Token::new(NAME, number).with_ticket(is_in_store.then_some(&*ticket))
    };
    let (to, events) = unbounded_channel();
    let writing = async |who: usize| {
        if !writers.contains(&who) {
            return Ok(());
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let through = url.through(listener.local_addr()?.port());
        let serving = async {
            let mut connections = JoinSet::new();
            loop {
                let (client, _) = listener.accept().await?;
                connections.spawn(serve(who, client, url.clone(), to.clone()));
            }
        };
        let result = tokio::select! {
            result = write(through, token(who)) => result,
            error = serving => return error,
        };
        let result = result.map(drop).map_err(|error| format!("{error:#}"));
        Ok(to.send((who, 0, Event::Returned(result)))?)
    };
    let over = [OLDER, NEWER].map(|who| !writers.contains(&who));
    let grant = async |who: usize| {
        let token = token(who);
        match token.ticket() {
            Some(ticket) => server.grant(ticket, token.number()).await,
            None => Ok(()),
        }
    };
    let schedule = schedule(&server, &grant, events, over, choose);
    Ok(tokio::try_join!(schedule, writing(OLDER), writing(NEWER))?.0)
}

/// What a connection does.
enum Doing {
    Nothing,
    Waits(String, oneshot::Sender<()>),
    /// Whether it waits for a lock of another connection.
    Runs(Option<String>, bool),
}

/// `grant` makes one of them the holder.
async fn schedule(
    server: &Observer,
    grant: &impl AsyncFn(usize) -> Result<()>,
    mut events: UnboundedReceiver<Report>,
    mut over: [bool; 2],
    choose: &mut dyn FnMut() -> usize,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    // By the server's process.
    let mut connections = BTreeMap::<i32, (usize, Doing)>::new();
    if !over[OLDER] {
        grant(OLDER).await?;
    }
    let mut is_granted = false;
    while over != [true; 2] {
        let mut blocked = Vec::new();
        if let Ok(Some((who, process, event))) = timeout(ASK, events.recv()).await {
            let doing = match event {
                Event::Asks(Some(statement), go) if !touches_nothing(&statement) => {
                    Doing::Waits(statement, go)
                }
                Event::Asks(statement, go) => {
                    let _ = go.send(());
                    Doing::Runs(statement, false)
                }
                Event::Answered(answer) => {
                    outcome.refused[who] |= answer.starts_with("error");
                    if let Some((_, Doing::Runs(Some(statement), _))) = connections.get(&process) {
                        outcome.step(who, statement, &answer);
                    }
                    Doing::Nothing
                }
                Event::Returned(result) => {
                    outcome.step(who, "returns", &format!("{result:?}"));
                    // What is not committed is rolled back before anything else happens.
                    let ended = connections.iter().filter(|(_, (of, _))| *of == who);
                    let ended: Vec<_> = ended.map(|(process, _)| *process).collect();
                    server.end(&ended).await?;
                    connections.retain(|_, (of, _)| *of != who);
                    if who == NEWER {
                        outcome.written = server.contents().await?;
                    }
                    (outcome.failed[who], over[who]) = (result.is_err(), true);
                    Doing::Nothing
                }
            };
            connections.insert(process, (who, doing));
        } else {
            let processes: Vec<_> = connections.keys().copied().collect();
            blocked = server.blocked(&processes).await?;
            blocked.retain(|_| events.is_empty());
        }
        for (process, (who, doing)) in &mut connections {
            if let Doing::Runs(statement, waits) = doing {
                *waits = blocked.contains(process);
                if let (true, Some(statement)) = (*waits, statement) {
                    outcome.step(*who, statement, "waits for a lock");
                }
            }
        }
        let any = |who: usize, is: fn(&Doing) -> bool| {
            let mut all = connections.values();
            all.any(|(of, doing)| *of == who && is(doing))
        };
        let works = |who| {
            let goes_on = any(who, |doing| matches!(doing, Doing::Runs(_, false)));
            !over[who] && (goes_on || !any(who, |doing| !matches!(doing, Doing::Nothing)))
        };
        let waits = |who: usize| !over[who] && any(who, |doing| matches!(doing, Doing::Waits(..)));
        let who = match (waits(OLDER), waits(NEWER)) {
            _ if works(OLDER) || works(NEWER) => continue,
            (false, false) => continue,
            (true, true) => choose(),
            (older, _) => usize::from(!older),
        };
        // From its first statement on, the older one has lost the lock.
        if who == NEWER && !replace(&mut is_granted, true) {
            grant(NEWER).await?;
        }
        let mut mine = connections.values_mut().filter(|(of, _)| *of == who);
        let next = mine.find(|(_, doing)| matches!(doing, Doing::Waits(..)));
        if let Some((_, doing)) = next
            && let Doing::Waits(statement, go) = replace(doing, Doing::Nothing)
        {
            *doing = Doing::Runs(Some(statement), false);
            let _ = go.send(());
        }
    }
    outcome.contents = server.contents().await?;
    Ok(outcome)
}

/// Whether it makes no difference when a statement runs.
fn touches_nothing(statement: &str) -> bool {
    const FIRST: &str = "begin deallocate discard reset savepoint set show start";
    let text = statement.trim().trim_end_matches(';').to_lowercase();
    let first = text.split_whitespace().next().unwrap_or_default();
    let is_one = FIRST.split(' ').any(|word| word == first) && !text.contains(';');
    let types = first == "select" && text.contains("from pg_catalog.pg_");
    is_one || types || text.is_empty() || text == "select 1"
}
