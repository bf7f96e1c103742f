//! [`Inspector`]: reads names from every server of a quorum, and changes nothing. Merges the answers like those of queries.

use std::time::Duration;

use super::merge::merged;
use super::votes::majority;
use super::wake_queue::{is_wake_queue, wake_queue};
use crate::clock::Instant;
use crate::error::{SetupError, StoreError};
use crate::name::Name;
use crate::store::NameRecord;
use crate::store::redis;
use crate::store::snapshot::Snapshot;

const PAUSE: Duration = Duration::from_secs(5);

struct Watched {
    inspector: redis::Inspector,
    retry: Instant,
}

pub(crate) struct Inspector {
    nodes: Vec<Watched>,
    /// The last error of a server that could not be reached.
    trouble: Option<SetupError>,
}

impl Inspector {
    pub(in crate::store) fn new(nodes: impl IntoIterator<Item = redis::Inspector>) -> Self {
        let watched = |inspector| Watched {
            inspector,
            retry: Instant::START,
        };
        Self {
            nodes: nodes.into_iter().map(watched).collect(),
            trouble: None,
        }
    }

    pub(in crate::store) fn nodes(&mut self) -> impl Iterator<Item = &mut redis::Inspector> {
        self.nodes.iter_mut().map(|node| &mut node.inspector)
    }

    /// Connects to every server that can be reached. A majority must be reachable.
    pub(in crate::store) async fn connect(&mut self) -> Result<(), SetupError> {
        self.of_majority(async |node: &mut redis::Inspector| node.connect().await)
            .await
            .map(drop)
    }

    /// Removes wake queues from the `names` of the server at `index`, and names that a server before it has, too.
    pub(in crate::store) async fn leave_out(
        &mut self,
        index: usize,
        names: &mut Vec<Name>,
    ) -> Result<(), SetupError> {
        names.retain(|name| !is_wake_queue(name));
        for before in 0..index {
            let asked = &*names;
            let known = self
                .of_one(before, async |node: &mut redis::Inspector| {
                    node.known(asked).await
                })
                .await?;
            if let Some(known) = known {
                let mut known = known.into_iter();
                names.retain(|_| !known.next().unwrap_or(false));
            }
        }
        Ok(())
    }

    pub(in crate::store) async fn inspect(
        &mut self,
        names: &[Name],
    ) -> Result<Snapshot, SetupError> {
        let with_queues = names
            .iter()
            .flat_map(|name| [name.clone(), wake_queue(name)]);
        let all: Vec<_> = with_queues.collect();
        let mut found = self
            .of_majority(async |node: &mut redis::Inspector| node.inspect(&all).await)
            .await?;
        let now = found.iter().flatten().map(|snapshot| snapshot.now).max();
        let mut at = |index: usize| {
            let states = found.iter_mut().map(|snapshot| {
                let state = snapshot.as_mut()?.names.get_mut(index)?;
                Some(std::mem::replace(state, Ok(NameRecord::default())))
            });
            states.collect::<Vec<_>>()
        };
        let names = (0..names.len()).map(|index| {
            let (states, beside) = (at(2 * index), at(2 * index + 1));
            together(states, beside)
        });
        Ok(Snapshot {
            names: names.collect(),
            now: now.unwrap_or_default(),
        })
    }

    /// Returns the answers of all servers; an error unless a majority answers.
    async fn of_majority<T>(
        &mut self,
        ask: impl AsyncFn(&mut redis::Inspector) -> Result<T, SetupError>,
    ) -> Result<Vec<Option<T>>, SetupError> {
        let mut answers = Vec::new();
        for index in 0..self.nodes.len() {
            answers.push(self.of_one(index, &ask).await?);
        }
        let answered = answers.iter().flatten().count();
        if answered >= majority(answers.len()) {
            return Ok(answers);
        }
        Err(self.trouble.clone().unwrap_or_else(|| SetupError::Engine {
            reason: "the servers of the quorum were not asked".to_owned(),
        }))
    }

    /// Returns the answer of one server; `None` if the server cannot be reached.
    pub(in crate::store) async fn of_one<T>(
        &mut self,
        index: usize,
        ask: impl AsyncFnOnce(&mut redis::Inspector) -> Result<T, SetupError>,
    ) -> Result<Option<T>, SetupError> {
        let node = &mut self.nodes[index];
        if Instant::now() < node.retry {
            return Ok(None);
        }
        match ask(&mut node.inspector).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error @ SetupError::Unreachable { .. }) => {
                node.retry = Instant::now().after(PAUSE);
                self.trouble = Some(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

type State = Option<Result<NameRecord, StoreError>>;

/// Merges the states of a name, and of its wake queue.
fn together(states: Vec<State>, beside: Vec<State>) -> Result<NameRecord, StoreError> {
    let answered = states.iter().flatten().filter(|state| state.is_ok());
    if answered.count() < majority(states.len()) {
        let mut failed = states.into_iter().flatten().filter_map(Result::err);
        let few = || StoreError::disconnected("too few servers of the quorum have answered");
        return Err(failed.next().unwrap_or_else(few));
    }
    let known = |states: Vec<State>| {
        let states = states.into_iter().map(|state| state.and_then(Result::ok));
        states.collect::<Vec<_>>()
    };
    Ok(merged(known(states), known(beside)))
}
