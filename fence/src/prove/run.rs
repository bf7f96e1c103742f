//! One run: the writes of one or several holders, statement by statement, in an order that somebody chooses.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::mem::replace;
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::relay::{Event, Report, serve};
use super::server::{FREE, HOLD, NAME, Observer, PASS, Result, Url};
use super::{OLDER, Prover, Token};

/// When to ask the server whether a statement waits for a lock. Its answer decides, not the time.
const ASK: Duration = Duration::from_millis(1);

/// What happens next.
#[derive(Clone, Copy)]
pub(super) enum Action {
    /// The next statement of this writer runs.
    Goes(usize),
    /// Its process is killed.
    Dies(usize),
    /// The server ends those of its connections that are in a transaction.
    Disconnects(usize),
}

/// How a run ended.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) steps: Vec<String>,
    /// What was in the tables at first, and after each change; and who made it.
    pub(super) states: Vec<(Option<usize>, Vec<String>)>,
    pub(super) failed: [bool; 3],
    /// Whose statements the server refused.
    pub(super) refused: [bool; 3],
    pub(super) died: [bool; 3],
    /// A limit ended it.
    pub(super) is_endless: bool,
}

impl Outcome {
    fn step(&mut self, who: usize, what: &str) {
        let words: Vec<_> = what.split_whitespace().collect();
        let step = format!(
            "  {}  {}",
            ["older", "newer", "third"][who],
            words.join(" ")
        );
        // It waits since another step.
        if !step.ends_with("waits for a lock") || !self.steps.contains(&step) {
            self.steps.push(step);
        }
    }

    async fn look(&mut self, who: Option<usize>, server: &Observer) -> Result<()> {
        let now = server.contents().await?;
        if let Some(now) = now.filter(|now| Some(now) != self.states.last().map(|it| &it.1)) {
            self.states.push((who, now));
        }
        Ok(())
    }

    /// What is in the tables at last.
    pub(super) fn end(&self) -> &[String] {
        self.states.last().map_or(&[], |(_, rows)| rows)
    }

    /// How often a writer has changed them.
    pub(super) fn changes(&self, who: usize) -> usize {
        let all = self.states.iter();
        all.filter(|(by, _)| *by == Some(who)).count()
    }

    /// The same with what `who` did later.
    pub(super) fn then(mut self, who: usize, later: Self) -> Self {
        self.step(who, "comes back");
        self.steps.extend(later.steps);
        self.states.extend(later.states.into_iter().skip(1));
        (self.failed[who], self.refused[who]) = (later.failed[who], later.refused[who]);
        self.is_endless |= later.is_endless;
        self
    }
}

/// Lets `writers` write. `choose` says what happens, and is told who could go on. They come `back` after another run,
/// or are the first ones.
pub(super) async fn run<T, E: Display>(
    prover: &Prover<'_>,
    url: &Url,
    writers: &[usize],
    back: bool,
    write: &impl AsyncFn(String, Token) -> std::result::Result<T, E>,
    choose: &mut dyn FnMut(&[usize]) -> Action,
) -> Result<Outcome> {
    let server = Observer::connect(url, prover.ignore).await?;
    let is_in_store = server.begin(back).await?;
    let token = |who: usize| {
        // As long as those of a store: a program that makes 32 bits or a `double` of them fails.
        let number = 4_000_000_000_000_000_001 + who as u64;
        let ticket = format!("{number:032}");
        Token::new(NAME, number).with_ticket(is_in_store.then_some(&*ticket))
    };
    let (to, events) = unbounded_channel();
    let killed = [(); 3].map(|()| Notify::new());
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
            biased;
            () = killed[who].notified() => return Ok(()),
            result = write(through, token(who)) => result,
            error = serving => return error,
        };
        let result = result.map(drop).map_err(|error| format!("{error:#}"));
        Ok(to.send((who, 0, Event::Returned(result)))?)
    };
    let grant = async |who: usize| {
        let token = token(who);
        match token.ticket() {
            Some(ticket) => server.grant(ticket, token.number()).await,
            None => Ok(()),
        }
    };
    let schedule = async {
        if !back && writers.contains(&OLDER) {
            grant(OLDER).await?;
        }
        let over = [0, 1, 2].map(|who| !writers.contains(&who));
        let outcome = schedule(prover, &server, &grant, &killed, events, over, choose).await;
        killed.iter().for_each(Notify::notify_one);
        outcome
    };
    let (outcome, ..) = tokio::try_join!(schedule, writing(0), writing(1), writing(2))?;
    Ok(outcome)
}

/// What a connection does.
enum Doing {
    Nothing,
    /// It would like to run this statement.
    Waits(String, oneshot::Sender<()>),
    /// This statement runs, and is about to write.
    Pauses(String),
    /// Whether it waits for a lock of another connection.
    Runs(Option<String>, bool),
}

/// By the server's process: whose it is.
type Connections = BTreeMap<i32, (usize, Doing)>;

/// `grant` makes one of them the holder.
async fn schedule(
    prover: &Prover<'_>,
    server: &Observer,
    grant: &impl AsyncFn(usize) -> Result<()>,
    killed: &[Notify; 3],
    mut events: UnboundedReceiver<Report>,
    mut over: [bool; 3],
    choose: &mut dyn FnMut(&[usize]) -> Action,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    outcome.look(None, server).await?;
    let mut connections = Connections::new();
    // The one whose statement runs. Others may have waited for it, so their answers come after its own.
    let mut active = None;
    let mut answers = VecDeque::new();
    // What one of them has tried, to no effect, since another one went on.
    let mut tried = Vec::new();
    let mut is_granted = false;
    let began = Instant::now();
    loop {
        // What they have not committed is rolled back before anything else happens.
        let ended = processes(&connections, |who| over[who]);
        server.end(&ended, "").await?;
        connections.retain(|_, (who, _)| !over[*who]);
        if over == [true; 3] {
            break;
        }
        if began.elapsed() > prover.time || outcome.steps.len() > prover.steps {
            outcome.is_endless = true;
            break;
        }
        let mut blocked = Vec::new();
        let event = match active {
            None if !answers.is_empty() => answers.pop_front(),
            _ => timeout(ASK, events.recv()).await.ok().flatten(),
        };
        if let Some((who, process, event)) = event {
            if active.is_some_and(|active| active != process) {
                answers.push_back((who, process, event));
                continue;
            }
            active = None;
            let doing = match event {
                _ if over[who] => continue,
                Event::Asks(Some(statement), go) if !touches_nothing(&statement) => {
                    Doing::Waits(statement, go)
                }
                Event::Asks(statement, go) => {
                    let _ = go.send(());
                    Doing::Runs(statement, false)
                }
                Event::Answered(answer, is_committed) => {
                    let is_error = answer.starts_with("error");
                    outcome.refused[who] |= is_error;
                    if let Some((_, Doing::Runs(Some(statement), _))) = connections.get(&process) {
                        outcome.step(who, &format!("{statement} -> {answer}"));
                        if may_hide_writes(statement) {
                            server.doors(process, FREE).await?;
                        }
                        let is_idle =
                            is_error || answer.starts_with("SELECT") || answer.ends_with(" 0");
                        let writes = !is_idle && answer.ends_with(|it: char| it.is_ascii_digit());
                        tried.retain(|(of, _)| *of == who && !writes);
                        if is_idle {
                            tried.push((who, statement.clone()));
                        }
                    }
                    if is_committed {
                        outcome.look(Some(who), server).await?;
                    }
                    Doing::Nothing
                }
                Event::Returned(result) => {
                    outcome.step(who, &format!("returns -> {result:?}"));
                    (outcome.failed[who], over[who]) = (result.is_err(), true);
                    Doing::Nothing
                }
            };
            connections.insert(process, (who, doing));
        } else {
            let all = processes(&connections, |_| true);
            blocked = server.blocked(&all).await?;
            blocked.retain(|_| events.is_empty());
        }
        for (process, (who, doing)) in &mut connections {
            if let Doing::Runs(statement, waits) = doing {
                *waits = blocked.contains(process);
                let pauses = blocked.contains(&-process);
                active.take_if(|active| active == process && (*waits || pauses));
                if let (true, Some(statement)) = (*waits, &statement) {
                    outcome.step(*who, &format!("{statement} -> waits for a lock"));
                }
                if let Some(statement) = statement.take_if(|_| pauses) {
                    outcome.step(*who, &format!("{statement} -> is about to write"));
                    *doing = Doing::Pauses(statement);
                }
            }
        }
        let of = |who: usize| {
            let all = connections.values();
            all.filter_map(move |(of, doing)| (*of == who).then_some(doing))
        };
        let works = |who| {
            let goes_on = of(who).any(|doing| matches!(doing, Doing::Runs(_, false)));
            !over[who] && (goes_on || of(who).all(|doing| matches!(doing, Doing::Nothing)))
        };
        let waits = |doing: &Doing| matches!(doing, Doing::Waits(..) | Doing::Pauses(_));
        let mut can: Vec<_> = (0..3).filter(|who| of(*who).any(waits)).collect();
        if can.is_empty() || (0..3).any(works) {
            continue;
        }
        // Who would try the same again lets others go on first: it may wait for them.
        let again = |who: &usize| {
            let has_tried = |next| tried.iter().any(|(of, it)| of == who && it == next);
            of(*who).any(|doing| matches!(doing, Doing::Waits(next, _) if has_tried(next)))
        };
        if !can.iter().all(again) {
            can.retain(|who| !again(who));
        }
        match choose(&can) {
            Action::Goes(who) => {
                // From the newer one's first statement on, the older one has lost the lock.
                if who != OLDER && !replace(&mut is_granted, true) {
                    grant(who).await?;
                }
                let mut mine = connections.iter_mut().filter(|(_, (of, _))| *of == who);
                if let Some((process, (_, doing))) = mine.find(|(_, (_, doing))| waits(doing)) {
                    active = Some(*process);
                    *doing = match replace(doing, Doing::Nothing) {
                        Doing::Waits(statement, go) => {
                            if may_hide_writes(&statement) {
                                server.doors(*process, HOLD).await?;
                            }
                            let _ = go.send(());
                            Doing::Runs(Some(statement), false)
                        }
                        Doing::Pauses(statement) => {
                            server.doors(*process, PASS).await?;
                            Doing::Runs(Some(statement), false)
                        }
                        other => other,
                    };
                }
            }
            Action::Dies(who) => {
                outcome.step(who, "dies");
                killed[who].notify_one();
                (outcome.died[who], over[who]) = (true, true);
            }
            Action::Disconnects(who) => {
                outcome.step(who, "is disconnected where it is in a transaction");
                let mine = processes(&connections, |of| of == who);
                let which = "AND state LIKE 'idle in transaction%'";
                server.end(&mine, which).await?;
            }
        }
    }
    outcome.look(None, server).await?;
    Ok(outcome)
}

fn processes(of: &Connections, whose: impl Fn(usize) -> bool) -> Vec<i32> {
    let those = of.iter().filter(|(_, (who, _))| whose(*who));
    those.map(|(process, _)| *process).collect()
}

fn first_word(statement: &str) -> String {
    let word = statement.split_whitespace().next();
    word.unwrap_or_default().to_lowercase()
}

/// Whether it makes no difference when a statement runs.
fn touches_nothing(statement: &str) -> bool {
    const FIRST: &str = "begin deallocate discard reset savepoint set show start";
    let text = statement.trim().trim_end_matches(';').to_lowercase();
    let first = first_word(&text);
    let is_one = FIRST.split(' ').any(|word| word == first) && !text.contains(';');
    let types = first == "select" && text.contains("from pg_catalog.pg_");
    is_one || types || text.is_empty() || text == "select 1"
}

/// Whether it may be several writes, as a function is, or a write that comes after something else.
fn may_hide_writes(statement: &str) -> bool {
    const PLAIN: &str = "commit copy delete insert merge rollback update";
    let is_one = !statement.trim_end_matches(';').contains(';');
    !is_one || !PLAIN.split(' ').any(|word| word == first_word(statement))
}
