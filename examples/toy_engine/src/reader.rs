//! [`ToyReader`]: what an operator sees.

use auto_mutex_core::SetupError;
use auto_mutex_core::store::{Described, Found, Name, Page, Reader, Reading, Snapshot, matches};
use tokio::sync::mpsc::unbounded_channel;

use super::server::{Job, Read, Server};

pub(crate) struct ToyReader(Server);

impl ToyReader {
    pub(crate) fn new(server: Server) -> Self {
        Self(server)
    }

    async fn read(&self) -> Result<Read, SetupError> {
        let (sender, mut reply) = unbounded_channel();
        let _ = self.0.send(Job::Read(sender));
        let read = reply.recv().await;
        read.ok_or_else(|| SetupError::engine("the server has ended"))
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
            let keys = wanted.map(|name| Found {
                key: name.to_string(),
                name: Some(name),
                never_ends: false,
            });
            // All of them are in one page.
            Ok(Page {
                server: "toy".to_owned(),
                keys: keys.collect(),
                next: None,
            })
        })
    }

    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>> {
        Box::pin(async {
            let (now, found) = self.read().await?;
            let state = |name: &Name| {
                let found = found.iter().find(|(it, _)| it == name);
                Ok(found.map(|(_, state)| state.clone()).unwrap_or_default())
            };
            let names = names.iter().map(state).collect();
            Ok(Snapshot { now, names })
        })
    }

    fn describe(&mut self) -> Reading<'_, Vec<Described>> {
        Box::pin(async { Vec::new() })
    }
}
