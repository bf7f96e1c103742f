//! [`inquire`]: sends a few queries to a node of a cluster, on a separate connection.

use auto_mutex_core::SetupError;
use redis::Cmd;

use super::error::{ConnectError, accept};
use super::hello;
use crate::RedisEndpoint;
use crate::wire::{Limits, Value};

/// Sends `questions` to the node and passes the replies to `read` in order, within `limits`. The first error ends the inquiry.
pub(crate) async fn inquire(
    endpoint: &RedisEndpoint,
    questions: &[&[&str]],
    limits: Limits,
    mut read: impl FnMut(usize, &Value<'_>),
) -> Result<(), SetupError> {
    let RedisEndpoint {
        address, access, ..
    } = endpoint;
    let asked = limits.within(async {
        // Any role is accepted, because replicas know the topology too.
        let greeted = hello::open(address, access, true, None, limits).await?;
        let mut connection = greeted.connection;
        let mut bytes = Vec::new();
        for question in questions {
            Cmd::new().arg(question).write_packed_command(&mut bytes);
        }
        connection.send(&bytes).await?;
        for index in 0..questions.len() {
            read(index, &accept(connection.reply().await?)?);
        }
        Ok(())
    });
    let asked: Result<(), ConnectError> = asked.await;
    asked.map_err(|error| error.at(&address.to_string()))
}
