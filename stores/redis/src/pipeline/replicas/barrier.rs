//! [`Barrier`]: counts the replicas that have a grant, on a separate connection, because WAIT delays later commands. It
//! first touches the granted ticket, so that a server without the grant confirms nothing.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use auto_mutex_net::{Backoff, Connects as _, USUAL_SILENCE};
use auto_mutex_seam::store::{
    Answer, Granted, Op, Reply, STORE, StoreErrorKind, first, lock, tell,
};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{Confirming, granted};
use crate::connect::{Connector, Ready};
use crate::error::{self, Code};
use crate::login::error::accepted;
use crate::login::hello;
use crate::pipeline::Pipeline;
use crate::script::{command, reply};
use crate::wire::{Connection, Value};

const MOST: usize = 256;
const GRACE: Duration = Duration::from_millis(500);
/// The pause before the first reconnect. Later ones are longer.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Barrier<'a> {
    pub(super) pipeline: Arc<Pipeline>,
    pub(super) confirming: &'a Confirming,
    pub(super) grants: UnboundedReceiver<Answer>,
    /// The connection, and the generation of the main connection when it was made.
    pub(super) beside: Option<(u64, Ready)>,
}

impl Barrier<'_> {
    pub(super) async fn run(mut self) {
        let confirming = self.confirming;
        let generation = confirming.generation();
        if generation > 0 {
            // Connects early, so that the first grant need not wait.
            let opened = connect(&self.pipeline.connector).await;
            self.beside = opened.ok().map(|ready| (generation, ready));
        }
        let mut batch = Vec::new();
        while self.receive(&mut batch).await > 0 {
            let ends = Instant::now() + confirming.replicas.timeout;
            let mut backoff = Backoff::new(PAUSE, USUAL_SILENCE);
            loop {
                let error = match self.ask(&batch, ends).await {
                    Ok(reached) => {
                        let answers = std::mem::take(&mut batch).into_iter().zip(reached);
                        for (answer, reached) in answers {
                            match reached {
                                Some(reached) => confirming.decide(answer, reached),
                                None => batch.push(answer),
                            }
                        }
                        "the server is busy".to_owned()
                    }
                    Err(error) => {
                        self.beside = None;
                        error
                    }
                };
                let pause = backoff.pause();
                if batch.is_empty() {
                    break;
                }
                if Instant::now() + pause >= ends {
                    unknown(error);
                    for answer in batch.drain(..) {
                        confirming.decide(answer, 0);
                    }
                    break;
                }
                sleep(pause).await;
            }
        }
    }

    /// Waits for grants. Meanwhile, and only then, logs in with new credentials when they are due.
    async fn receive(&mut self, batch: &mut Vec<Answer>) -> usize {
        loop {
            let due = async {
                match &mut self.beside {
                    Some((_, ready)) => Err(ready.renewal.due().await),
                    None => pending().await,
                }
            };
            let received = async { Ok(self.grants.recv_many(batch, MOST).await) };
            match first(due, received).await {
                Ok(count) => return count,
                Err(granted) => self.authenticate(&granted).await,
            }
        }
    }

    async fn authenticate(&mut self, granted: &Granted) {
        let Some((_, ready)) = &mut self.beside else {
            return;
        };
        let auth = hello::auth(granted);
        let limit = self.confirming.replicas.timeout;
        let asked = timeout(limit, ready.connection.ask(&auth)).await;
        match asked.map(|reply| reply.map(|reply| accepted(&reply))) {
            Ok(Ok(answer)) => ready.renewal.answered(answer),
            _ => self.beside = None,
        }
    }

    /// How many replicas have each grant; `None` if the server is busy and must be asked again.
    async fn ask(&mut self, batch: &[Answer], ends: Instant) -> Result<Vec<Option<u32>>, String> {
        // After a reconnect of the main connection, this one may still be to a former primary.
        let connector = &self.pipeline.connector;
        let generation = self.confirming.generation();
        self.beside.take_if(|(beside, _)| *beside != generation);
        let (_, ready) = match &mut self.beside {
            Some(beside) => beside,
            none => {
                let opened = timeout_at(ends, connect(connector)).await;
                none.insert((generation, opened.map_err(late)??))
            }
        };
        let left = ends.saturating_duration_since(Instant::now());
        let first = command::until(
            ready
                .epoch
                .opens()
                .max(lock(&self.pipeline.state).epoch.opens()),
        );
        let mut question = redis::pipe();
        for answer in batch {
            let name = &answer.request.name;
            question.add_command(connector.evaluation(name, first, &touch(answer)));
        }
        // For WAIT, zero means no timeout.
        let millis = (left.as_millis() as u64).max(1);
        let count = self.confirming.replicas.count;
        question.cmd("WAIT").arg(count).arg(millis);
        let question = question.get_packed_pipeline();
        let answers = answers(&mut ready.connection, &question, batch, left / 2);
        timeout_at(ends + GRACE, answers).await.map_err(late)?
    }
}

async fn connect(connector: &Connector) -> Result<Ready, String> {
    let opened = connector.unsubscribed(USUAL_SILENCE).await;
    let mut ready = opened.map_err(|error| error.at(&connector.address()).to_string())?;
    ready.connection.silence = Duration::MAX;
    Ok(ready)
}

/// The server answers touches immediately. If there is no reply within `reply_timeout`, it is gone. A refused touch,
/// for example of a foreign key, concerns only its own grant.
async fn answers(
    connection: &mut Connection,
    question: &[u8],
    batch: &[Answer],
    reply_timeout: Duration,
) -> Result<Vec<Option<u32>>, String> {
    let lost = |error: std::io::Error| error.to_string();
    connection.send(question).await.map_err(lost)?;
    let mut holds = Vec::with_capacity(batch.len());
    let mut refused = None;
    for answer in batch {
        let reply = timeout(reply_timeout, connection.reply()).await;
        let result = reply::parse(&reply.map_err(late)?.map_err(lost)?, &touch(answer));
        let token = granted(answer).map(|(_, token)| token);
        holds.push(match result {
            Ok(Reply::Granted { token: now, .. }) => Some(Some(now) == token),
            Ok(_) => Some(false),
            Err(error) if error.kind() == StoreErrorKind::Busy => None,
            Err(error) => {
                let code = Code::of_error(&error);
                if code.ends_connection() || code == Code::NoScript {
                    // This concerns all grants. The set-up of a new connection handles it.
                    return Err(error.to_string());
                }
                refused = Some(error);
                Some(false)
            }
        });
    }
    let count = match connection.reply().await.map_err(lost)? {
        Value::Integer(count) => u32::try_from(count).unwrap_or(0),
        Value::Error(error) => return Err(error::of_server(&error).to_string()),
        _ => return Err("WAIT was answered by something else".to_owned()),
    };
    if let Some(error) = refused {
        unknown(error.to_string());
    }
    let count_if = |holds| if holds { count } else { 0 };
    let reached = holds.into_iter().map(|holds| holds.map(count_if));
    Ok(reached.collect())
}

fn unknown(error: String) {
    tell(move || {
        tracing::warn!(target: STORE, %error, "cannot find out how many replicas have the latest grants, so their calls fail");
    });
}

fn late(_: tokio::time::error::Elapsed) -> String {
    "no answer in time".to_owned()
}

/// A touch with the values of the grant's own request, so that it changes nothing.
fn touch(answer: &Answer) -> Op {
    let op = &answer.request.op;
    let touch = |lease| Op::Touch { lease, units: 0 };
    op.lease().map_or_else(|| op.clone(), touch)
}
