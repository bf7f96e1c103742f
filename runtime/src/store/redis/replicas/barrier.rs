//! [`Barrier`]: asks how many replicas have a grant.
//!
//! On a connection of its own, since WAIT keeps everything behind it waiting. It touches what was granted and waits for that
//! write: so a server that does not know the grant, being another one than the one that gave it, confirms nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, timeout_at};

use super::super::command;
use super::super::connect::{Connector, Ready};
use super::super::line::Line;
use super::super::refusal::Refusal;
use super::super::wire::{self, Value};
use super::super::{error, reply};
use super::{Confirming, Fresh};
use crate::config::Replicas;
use crate::error::SetupError;
use crate::store::{Op, Reply};
use crate::wait;

/// So many grants share one WAIT at most.
const MOST: usize = 256;
/// How long after the end of WAIT its answer may arrive.
const GRACE: Duration = Duration::from_millis(500);
/// Between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(20);

pub(in super::super) struct Barrier {
    connector: Arc<Connector>,
    replicas: Replicas,
    line: Arc<Line>,
    ready: Option<Beside>,
}

/// A connection, and that which it stands beside.
struct Beside {
    ready: Ready,
    generation: u64,
}

impl Barrier {
    /// Connects, and makes sure that the server lets us wait.
    pub(in super::super) async fn open(
        connector: Arc<Connector>,
        replicas: Replicas,
        line: Arc<Line>,
    ) -> Result<Self, SetupError> {
        let mut ready = connector.beside().await?;
        let connection = &mut ready.connection;
        let mut question = Vec::new();
        wire::command(&mut question, |words| words.texts(&["WAIT", "0", "1"]));
        let asked = async {
            let lost = |cause| Refusal::of_socket(&cause);
            connection.send(&question).await.map_err(lost)?;
            match connection.reply().await.map_err(lost)? {
                Value::Error(error) => Err(Refusal::of(error::of_server(&error))),
                _ => Ok(()),
            }
        };
        let asked: Result<(), Refusal> = asked.await;
        asked.map_err(|refusal| refusal.at(&connector.place()))?;
        Ok(Self {
            connector,
            replicas,
            line,
            ready: Some(Beside {
                ready,
                generation: 1,
            }),
        })
    }

    /// Connects when it is needed.
    pub(in super::super) fn later(
        connector: Arc<Connector>,
        replicas: Replicas,
        line: Arc<Line>,
    ) -> Self {
        Self {
            connector,
            replicas,
            line,
            ready: None,
        }
    }

    /// Decides about one grant after the other, those that came meanwhile together.
    pub(super) async fn run(
        mut self,
        mut fresh: UnboundedReceiver<Fresh>,
        confirming: &Confirming,
    ) {
        let mut batch = Vec::new();
        while fresh.recv_many(&mut batch, MOST).await > 0 {
            let ends = Instant::now() + self.replicas.timeout;
            let mut reached = vec![0; batch.len()];
            while let Err(error) = self.ask(&batch, ends, confirming, &mut reached).await {
                self.ready = None;
                if Instant::now() + PAUSE >= ends {
                    wait::tell(move || {
                        tracing::warn!(%error, "it is not known how many replicas have a grant");
                    });
                    break;
                }
                sleep(PAUSE).await;
            }
            for (fresh, reached) in batch.drain(..).zip(reached) {
                confirming.decide(fresh, self.replicas.count, reached);
            }
        }
    }

    /// Fills in how many replicas have each of `batch`.
    async fn ask(
        &mut self,
        batch: &[Fresh],
        ends: Instant,
        confirming: &Confirming,
        reached: &mut [u32],
    ) -> Result<(), String> {
        let late = |_| "no answer in time".to_owned();
        let lost = |error: std::io::Error| error.to_string();
        // Beside another connection it may be at another server, or at one that is a primary no more.
        let generation = confirming.generation();
        self.ready.take_if(|beside| beside.generation != generation);
        let Ready {
            connection, reign, ..
        } = match &mut self.ready {
            Some(beside) => &mut beside.ready,
            none => {
                let opened = timeout_at(ends, self.connector.beside()).await;
                let ready = opened.map_err(late)?.map_err(|error| error.to_string())?;
                &mut none.insert(Beside { ready, generation }).ready
            }
        };
        let left = ends.saturating_duration_since(Instant::now());
        let opens = reign.opens().max(self.line.opens());
        let mut question = Vec::new();
        let touches: Vec<_> = batch.iter().map(touch).collect();
        for (fresh, op) in batch.iter().zip(&touches) {
            let (member, name) = (self.connector.member, &fresh.answer.request.name);
            let scripts = &self.connector.scripts;
            command::evaluate(&mut question, scripts, member, name, &[op], opens);
        }
        wire::command(&mut question, |words| {
            words.text("WAIT");
            words.number(self.replicas.count.into());
            // Zero would be for ever.
            words.number((left.as_millis() as u64).max(1));
        });
        let answers = async {
            connection.send(&question).await.map_err(lost)?;
            let mut holds = Vec::with_capacity(batch.len());
            let mut refused = None;
            for (fresh, op) in batch.iter().zip(&touches) {
                // These are answered at once: who does not is not there any more, and another connection has a chance.
                let reply = timeout_at(Instant::now() + left / 2, connection.reply()).await;
                let found = reply::parse(&reply.map_err(late)?.map_err(lost)?, op);
                holds.push(
                    matches!(found, Ok(Reply::Granted { token, .. }) if token == fresh.token),
                );
                refused = refused.or(found.err());
            }
            // The scripts are gone, or it is a primary no more: the next connection begins anew.
            if let Some(error) = refused {
                return Err(error.to_string());
            }
            match connection.reply().await.map_err(lost)? {
                Value::Integer(count) => Ok((holds, u32::try_from(count).unwrap_or(0))),
                Value::Error(error) => Err(error::of_server(&error).to_string()),
                _ => Err("WAIT was answered by something else".to_owned()),
            }
        };
        let (holds, count) = timeout_at(ends + GRACE, answers).await.map_err(late)??;
        for (reached, holds) in reached.iter_mut().zip(holds) {
            *reached = if holds { count } else { 0 };
        }
        Ok(())
    }
}

/// Says what the request of the grant said, once more: it changes nothing.
fn touch(fresh: &Fresh) -> Op {
    let (counter, hold, place) = match fresh.answer.request.op {
        Op::Acquire {
            counter,
            hold,
            place,
            ..
        }
        | Op::Touch {
            counter,
            hold,
            place,
            ..
        }
        | Op::Adopt {
            counter,
            hold,
            place,
            ..
        } => (counter, hold, place),
        _ => (0, Duration::ZERO, Duration::ZERO),
    };
    Op::Touch {
        ticket: fresh.ticket,
        counter,
        units: 0,
        hold,
        place,
    }
}
