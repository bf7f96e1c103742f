//! [`Queries`]: runs the functions of the schema.

use std::sync::Arc;

use auto_mutex_core::store::ConnectError;
use tokio_postgres::{Client, Error, Row, Statement};

use super::Session;
use crate::call::{self, Call, Function};
use crate::term::Term;

pub(crate) struct Queries {
    texts: Vec<String>,
    /// Behind a pooler, nothing is prepared.
    prepared: Vec<Option<Statement>>,
    /// The term in which requests run, behind a pooler.
    term: Option<String>,
}

impl Queries {
    /// With `prepares`, the frequent ones are prepared, unless a pooler may pass each request to another process.
    pub(crate) async fn of(
        session: &mut Session,
        term: Option<&Term>,
        prepares: bool,
    ) -> Result<Self, ConnectError> {
        let (mut texts, mut prepared) = (Vec::new(), Vec::new());
        for function in Function::ALL {
            let text = match term {
                Some(_) => function.query_in_term(),
                None => function.query(),
            };
            let client = session.client.clone();
            prepared.push(match prepares && term.is_none() && function.is_frequent() {
                true => Some(session.ask(client.prepare(&text)).await?),
                false => None,
            });
            texts.push(text);
        }
        Ok(Self {
            texts,
            prepared,
            term: term.map(|term| term.id.clone()),
        })
    }

    /// Runs a call. The request is sent when the future is polled first.
    pub(crate) fn run(
        &self,
        client: &Arc<Client>,
        mut call: Call,
    ) -> impl Future<Output = Result<Vec<Row>, Error>> + Send + 'static {
        let client = client.clone();
        let index = call.function as usize;
        let statement = self.prepared[index].clone();
        let text = match statement {
            None => self.texts[index].clone(),
            Some(_) => String::new(),
        };
        if let Some(term) = self
            .term
            .as_ref()
            .filter(|_| call.function != Function::Inspect)
        {
            call.values.push(call::text(term));
        }
        async move {
            match &statement {
                Some(statement) => client.query(statement, &call.plain()).await,
                None => client.query_typed(&text, &call.typed()).await,
            }
        }
    }
}
