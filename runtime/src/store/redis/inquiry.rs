//! [`inquire`]: a few questions to a node of a cluster, on a connection of their own.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::check::Part;
use super::connect::{greet, hail};
use super::error;
use super::refusal::Refusal;
use super::wire::{self, Value};
use crate::config::RedisEndpoint;
use crate::error::{SetupError, StoreError};

/// Puts `questions` to the node and hands the replies over in the same order, within `limit`. An error among them ends it.
pub(in crate::store) async fn inquire(
    endpoint: &RedisEndpoint,
    questions: &[&[&str]],
    limit: Duration,
    mut read: impl FnMut(usize, &Value<'_>),
) -> Result<(), SetupError> {
    let end = Instant::now() + limit;
    let asked = timeout_at(end, ask(endpoint, questions, end, &mut read)).await;
    let silence = || StoreError::disconnected(format!("no answer within {limit:?}"));
    let result = asked.unwrap_or_else(|_| Err(Refusal::Unreachable(silence())));
    result.map_err(|refusal| refusal.at(&endpoint.address.to_string()))
}

async fn ask(
    endpoint: &RedisEndpoint,
    questions: &[&[&str]],
    end: Instant,
    read: &mut impl FnMut(usize, &Value<'_>),
) -> Result<(), Refusal> {
    let lost = |error| Refusal::of_socket(&error);
    let mut bytes = Vec::new();
    wire::command(&mut bytes, |words| greet(words, &endpoint.access.login));
    let mut connection = hail(&endpoint.address, &endpoint.access, Part::Node, &bytes, end).await?;
    bytes.clear();
    for question in questions {
        wire::command(&mut bytes, |words| words.texts(question));
    }
    connection.send(&bytes).await.map_err(lost)?;
    for index in 0..questions.len() {
        match connection.reply().await.map_err(lost)? {
            Value::Error(error) => return Err(Refusal::of(error::of_server(&error))),
            reply => read(index, &reply),
        }
    }
    Ok(())
}
