//! [`Queries`]: runs the functions of the schema.

use std::collections::HashMap;
use std::sync::Arc;

use auto_mutex_core::store::ConnectError;
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::Session;
use crate::call::{Call, INSPECT, id, query};
use crate::term::Term;

/// The functions that most requests call, and how many parameters each has.
const FREQUENT: [(&str, usize); 3] = [("acquire", 13), ("touch", 9), ("release", 7)];

pub(crate) struct Queries {
    prepared: HashMap<&'static str, Statement>,
    /// The term in which requests run, behind a pooler.
    term: Option<Uuid>,
}

impl Queries {
    /// With `prepares`, the frequent ones are prepared, unless a pooler may pass each request to another process.
    pub(crate) async fn of(
        session: &mut Session,
        term: Option<&Term>,
        prepares: bool,
    ) -> Result<Self, ConnectError> {
        let mut prepared = HashMap::new();
        for (function, count) in FREQUENT.into_iter().filter(|_| prepares && term.is_none()) {
            let client = session.client.clone();
            let query = query(function, count, false);
            let statement = session.ask(client.prepare(&query)).await?;
            prepared.insert(function, statement);
        }
        Ok(Self {
            prepared,
            term: term.map(|term| term.id),
        })
    }

    /// Runs a call. The request is sent when the future is polled first.
    pub(crate) fn run(
        &self,
        client: &Arc<Client>,
        mut call: Call,
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send + 'static {
        let client = client.clone();
        let statement = self.prepared.get(call.function).cloned();
        let query = match statement {
            None => query(call.function, call.values.len(), self.term.is_some()),
            Some(_) => String::new(),
        };
        if let Some(term) = self.term.filter(|_| call.function != INSPECT) {
            call.values.push(id(term));
        }
        async move {
            match &statement {
                Some(statement) => client.query(statement, &call.plain()).await,
                None => client.query_typed(&query, &call.typed()).await,
            }
        }
    }
}
