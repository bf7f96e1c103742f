//! [`Queries`]: runs the functions of the schema.

use std::sync::Arc;

use auto_mutex_core::store::ConnectError;
use tokio_postgres::{Client, Error, Row, Statement};

use super::Session;
use crate::call::{Call, Function, Value};
use crate::term::Term;

pub(crate) struct Queries {
    texts: Vec<String>,
    /// Behind a pooler, nothing is prepared.
    prepared: Vec<Option<Statement>>,
    /// The term in which requests run, behind a pooler.
    term: Option<String>,
}

impl Queries {
    /// Prepares the frequent ones, unless a pooler may pass each request to another process.
    pub(crate) async fn of(
        session: &mut Session,
        term: Option<&Term>,
    ) -> Result<Self, ConnectError> {
        let texts = Function::ALL.map(|function| match term {
            Some(_) => function.query_in_term(),
            None => function.query(),
        });
        let mut prepared = Vec::new();
        for function in Function::ALL {
            let statement = match term.is_none() && function.is_frequent() {
                true => {
                    let client = session.client.clone();
                    let preparing = client.prepare(&texts[function as usize]);
                    Some(session.ask(preparing).await?)
                }
                false => None,
            };
            prepared.push(statement);
        }
        Ok(Self {
            texts: texts.into(),
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
            call.values.push(Value::Text(term.clone().into()));
        }
        async move {
            match &statement {
                Some(statement) => client.query(statement, &call.plain()).await,
                None => client.query_typed(&text, &call.typed()).await,
            }
        }
    }
}
