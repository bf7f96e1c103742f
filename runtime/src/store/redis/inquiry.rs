//! [`inquire`]: a few questions to a node of a cluster, on a connection of their own.

use tokio::time::timeout_at;

use super::check::Part;
use super::connect::{greet, hail};
use super::error;
use super::refusal::Refusal;
use super::wire::{self, Limits, Value, silent};
use crate::config::RedisEndpoint;
use crate::error::SetupError;

/// Puts `questions` to the node and hands the replies over in the same order, within `limits`. An error among them ends it.
pub(in crate::store) async fn inquire(
    endpoint: &RedisEndpoint,
    questions: &[&[&str]],
    limits: Limits,
    mut read: impl FnMut(usize, &Value<'_>),
) -> Result<(), SetupError> {
    let asked = timeout_at(limits.end, ask(endpoint, questions, limits, &mut read)).await;
    let result = asked.unwrap_or_else(|_| Err(Refusal::of_socket(&silent())));
    result.map_err(|refusal| refusal.at(&endpoint.address.to_string()))
}

async fn ask(
    endpoint: &RedisEndpoint,
    questions: &[&[&str]],
    limits: Limits,
    read: &mut impl FnMut(usize, &Value<'_>),
) -> Result<(), Refusal> {
    let lost = |error| Refusal::of_socket(&error);
    let mut bytes = Vec::new();
    wire::command(&mut bytes, |words| greet(words, &endpoint.access.login));
    let mut connection = hail(
        &endpoint.address,
        &endpoint.access,
        Part::Node,
        &bytes,
        limits,
    )
    .await?;
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
