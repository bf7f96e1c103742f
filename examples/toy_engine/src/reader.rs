//! [`ToyReader`]: what an operator sees.

use auto_mutex_seam::SetupError;
use auto_mutex_seam::store::{Described, Key, Name, Page, Reader, Reading, Snapshot, matches};
use tokio::sync::mpsc::unbounded_channel;

use super::server::{Job, Read, Server};

pub(crate) struct ToyReader(pub(crate) Server);

impl ToyReader {
    async fn read(&self) -> Result<Read, SetupError> {
        let (sender, mut reply) = unbounded_channel();
        self.0.send(Job::Read(sender));
        let ended = || SetupError::background_thread("the server has ended");
        reply.recv().await.ok_or_else(ended)
    }
}

impl Reader for ToyReader {
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>> {
        Box::pin(async { self.read().await.map(drop) })
    }

    fn scan<'a>(
        &'a mut self,
        _: usize,
        pattern: Option<&'a str>,
        _: &'a str,
    ) -> Reading<'a, Result<Page, SetupError>> {
        Box::pin(async move {
            let (_, names) = self.read().await?;
            let names = names.into_iter().map(|(name, _)| name);
            let wanted = names.filter(|it| pattern.is_some_and(|p| matches(p, it.as_str())));
            let keys = wanted.map(|name| Key::new(String::new(), name.to_string(), Some(&name)));
            let keys = keys.collect();
            Ok(Page { keys, next: None })
        })
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(async {
            let (now, found) = self.read().await?;
            let state = |name| found.iter().find(|(it, _)| it == name);
            let states = names.iter().map(state);
            let states = states.map(|found| Ok(found.map(|it| it.1.clone()).unwrap_or_default()));
            let names = states.collect();
            Ok(Snapshot { now, names })
        })
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async { Vec::new() })
    }
}
