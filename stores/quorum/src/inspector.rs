//! [`Inspector`]: reads names from every server of a quorum, and changes nothing. Merges the answers as for queries.

use std::time::Duration;

use auto_mutex_core::store::{
    Described, Instant, Name, Page, Reader, Reading, Reply, Snapshot, clock, matches,
};
use auto_mutex_core::{SetupError, StoreError};

use super::query::described;
use super::votes::{Votes, majority};
use super::wake::{name_of, wake_queue};

/// How long an unreachable server is left out.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) struct Inspector {
    nodes: Vec<(Box<dyn Reader>, Instant)>,
    trouble: Option<SetupError>,
}

impl Inspector {
    pub(super) fn new(nodes: impl IntoIterator<Item = Box<dyn Reader>>) -> Self {
        let nodes = nodes.into_iter().map(|reader| (reader, Instant::START));
        Self {
            nodes: nodes.collect(),
            trouble: None,
        }
    }

    async fn snapshot(&mut self, names: &[Name]) -> Result<Snapshot, SetupError> {
        let queues = names.iter().map(wake_queue);
        let all: Vec<_> = names.iter().cloned().chain(queues).collect();
        let answers = self
            .of_majority(async |node: &mut dyn Reader| node.inspect(&all).await)
            .await?;
        let mut now = 0;
        let mut votes: Vec<_> = all.iter().map(|_| Votes::new(answers.len())).collect();
        for (node, answer) in answers.into_iter().enumerate() {
            let Some(snapshot) = answer else { continue };
            now = now.max(snapshot.now);
            for (votes, state) in votes.iter_mut().zip(snapshot.names) {
                votes.put(node, state.map(Reply::Info));
            }
        }
        let (votes, beside) = votes.split_at(names.len());
        let states = votes.iter().zip(beside).map(|(votes, beside)| {
            if votes.answered() >= majority(votes.len()) {
                return Ok(described(votes, beside));
            }
            let few = || StoreError::disconnected("too few servers of the quorum have answered");
            Err(votes.errors().next().cloned().unwrap_or_else(few))
        });
        Ok(Snapshot {
            now,
            names: states.collect(),
        })
    }

    async fn of_majority<T>(
        &mut self,
        ask: impl AsyncFn(&mut dyn Reader) -> Result<T, SetupError>,
    ) -> Result<Vec<Option<T>>, SetupError> {
        let mut answers = Vec::new();
        for index in 0..self.nodes.len() {
            answers.push(self.of_one(index, &ask).await?);
        }
        if answers.iter().flatten().count() >= majority(answers.len()) {
            return Ok(answers);
        }
        let unasked = || SetupError::background_thread("the servers of the quorum were not asked");
        Err(self.trouble.clone().unwrap_or_else(unasked))
    }

    /// Returns the answer of one server; `None` if it cannot be reached.
    async fn of_one<T>(
        &mut self,
        index: usize,
        ask: impl AsyncFnOnce(&mut dyn Reader) -> Result<T, SetupError>,
    ) -> Result<Option<T>, SetupError> {
        let (reader, retry) = &mut self.nodes[index];
        if clock::now() < *retry {
            return Ok(None);
        }
        match ask(&mut **reader).await {
            Err(error @ SetupError::Unreachable { .. }) => {
                *retry = clock::now().after(PAUSE);
                self.trouble = Some(error);
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}

impl Reader for Inspector {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(async {
            self.of_majority(async |node: &mut dyn Reader| node.connect().await)
                .await
                .map(drop)
        })
    }

    fn servers(&self) -> usize {
        self.nodes.len()
    }

    fn scan<'a>(
        &'a mut self,
        server: usize,
        pattern: Option<&'a str>,
        cursor: &'a str,
    ) -> Reading<'a, Result<Page, SetupError>> {
        Box::pin(async move {
            let ask = async |node: &mut dyn Reader| node.scan(0, pattern, cursor).await;
            let mut page = self.of_one(server, ask).await?.unwrap_or_default();
            for found in &mut page.keys {
                let queue = found.name.as_deref().map(Name::from_escaped);
                if let Some(name) = queue.as_ref().and_then(name_of) {
                    // The state of a name includes its wake queue.
                    let is_wanted = !found.idle && pattern.is_none_or(|it| matches(it, name));
                    found.name = is_wanted.then(|| name.to_owned());
                }
            }
            Ok(page)
        })
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(self.snapshot(names))
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async {
            let mut all = Vec::new();
            for (node, _) in &mut self.nodes {
                all.append(&mut node.describe().await);
            }
            all
        })
    }
}
