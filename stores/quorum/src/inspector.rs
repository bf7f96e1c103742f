//! [`Inspector`]: reads names from every server of a quorum, and changes nothing. Merges the answers as for queries.

use std::time::Duration;

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{
    Described, Instant, Name, Page, Reader, Reading, Snapshot, WAKE_QUEUE, clock, matches,
    quorum::{Name as _, majority, merged},
};

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
        let queues = names.iter().map(Name::wake_queue);
        let all: Vec<_> = names.iter().cloned().chain(queues).collect();
        let answers = self
            .of_majority(async |node: &mut dyn Reader| node.inspect(&all).await)
            .await?;
        let times = answers.iter().flatten().map(|snapshot| snapshot.now);
        let now = times.max().unwrap_or_default();
        let records = answers.into_iter().map(|it| Some(it?.names.into_iter()));
        let mut records: Vec<_> = records.collect();
        let next = |_| {
            let nodes = records.iter_mut();
            nodes.map(|node| node.as_mut()?.next()).collect()
        };
        let mut of_names: Vec<Vec<_>> = all.iter().map(next).collect();
        let beside = of_names.split_off(names.len());
        let states = of_names.into_iter().zip(beside);
        Ok(Snapshot {
            now,
            names: states.map(|(of, beside)| merged(of, beside)).collect(),
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
                if let Some(name) = queue.as_ref().and_then(|queue| queue.before(WAKE_QUEUE)) {
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
