//! [`Inspector`]: reads names from every server of a quorum, and changes nothing. Merges the answers like those of queries.

use std::time::Duration;

use auto_mutex_core::store::{
    Described, Instant, KeyAt, Name, NameRecord, Part, Position, Reader, Reading, Snapshot,
};
use auto_mutex_core::{SetupError, StoreError};

use super::merge::merged;
use super::votes::majority;
use super::wake_queue::{is_wake_queue, wake_queue};

const PAUSE: Duration = Duration::from_secs(5);

struct Watched {
    reader: Box<dyn Reader>,
    /// When to try this server again.
    retry: Instant,
}

/// A reader of a quorum.
pub(super) struct Inspector {
    nodes: Vec<Watched>,
    /// The last error of a server that could not be reached.
    trouble: Option<SetupError>,
}

impl Inspector {
    pub(super) fn new(nodes: impl IntoIterator<Item = Box<dyn Reader>>) -> Self {
        let watched = |reader| Watched {
            reader,
            retry: Instant::START,
        };
        Self {
            nodes: nodes.into_iter().map(watched).collect(),
            trouble: None,
        }
    }

    /// The names on the server at `position`, without wake queues, and without those that a server with a lower index has.
    async fn page(&mut self, pattern: &str, position: &Position) -> Result<Part<Name>, SetupError> {
        let alone = position.alone();
        let ask = async |node: &mut dyn Reader| node.names(pattern, &alone).await;
        let (mut names, next) = self.of_one(position.server, ask).await?.unwrap_or_default();
        names.retain(|name| !is_wake_queue(name));
        for before in 0..position.server {
            let asked = &*names;
            let ask = async |node: &mut dyn Reader| node.inspect(asked).await;
            let Some(known) = self.of_one(before, ask).await? else {
                continue;
            };
            let mut known = known.names.into_iter();
            names.retain(|_| !matches!(known.next(), Some(Ok(state)) if state.exists));
        }
        let next = position.after(next.map(|next| next.cursor), self.nodes.len());
        Ok((names, next))
    }

    async fn states(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let with_queues = names
            .iter()
            .flat_map(|name| [name.clone(), wake_queue(name)]);
        let all: Vec<_> = with_queues.collect();
        let mut found = self
            .of_majority(async |node: &mut dyn Reader| node.inspect(&all).await)
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
        ask: impl AsyncFn(&mut dyn Reader) -> Result<T, SetupError>,
    ) -> Result<Vec<Option<T>>, SetupError> {
        let mut answers = Vec::new();
        for index in 0..self.nodes.len() {
            answers.push(self.of_one(index, &ask).await?);
        }
        let answered = answers.iter().flatten().count();
        if answered >= majority(answers.len()) {
            return Ok(answers);
        }
        Err(self
            .trouble
            .clone()
            .unwrap_or_else(|| SetupError::engine("the servers of the quorum were not asked")))
    }

    /// Returns the answer of one server; `None` if the server cannot be reached.
    async fn of_one<T>(
        &mut self,
        index: usize,
        ask: impl AsyncFnOnce(&mut dyn Reader) -> Result<T, SetupError>,
    ) -> Result<Option<T>, SetupError> {
        let node = &mut self.nodes[index];
        if Instant::now() < node.retry {
            return Ok(None);
        }
        match ask(&mut *node.reader).await {
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

impl Reader for Inspector {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(async {
            let connected = self
                .of_majority(async |node: &mut dyn Reader| node.connect().await)
                .await;
            connected.map(drop)
        })
    }

    fn names<'a>(
        &'a mut self,
        pattern: &'a str,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<Name>, SetupError>> {
        Box::pin(self.page(pattern, position))
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(self.states(names))
    }

    fn keys<'a>(
        &'a mut self,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<KeyAt>, SetupError>> {
        Box::pin(async {
            let node = &mut self.nodes[position.server].reader;
            let (mut keys, next) = match node.keys(&position.alone()).await {
                Err(SetupError::Unreachable { .. }) => Part::default(),
                part => part?,
            };
            for (_, key) in &mut keys {
                // A wake queue does not count as a name: the state of the name that it belongs to includes it.
                key.name.take_if(|name| is_wake_queue(name));
            }
            let next = position.after(next.map(|next| next.cursor), self.nodes.len());
            Ok((keys, next))
        })
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async {
            let mut all = Vec::new();
            for node in &mut self.nodes {
                all.append(&mut node.reader.describe().await);
            }
            all
        })
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
