//! [`survey`]: who serves what, from whichever node can say.

use std::time::Duration;

use tokio::task::JoinSet;
use uuid::Uuid;

use super::view::View;
use crate::config::RedisEndpoint;
use crate::error::{SetupError, StoreError};
use crate::store::redis::{self, Limits};

/// How many are asked at the same time.
const ABREAST: usize = 3;
/// How many are asked at most.
const MOST: usize = 12;

/// Asks `candidates`, the first ones first, each for `connect_timeout` and
/// no longer than it is silent for `silence`, until one has a view of a cluster that works and that has
/// heard of `epoch` changes at least. Otherwise the view that heard of most.
pub(super) async fn survey(
    candidates: Vec<RedisEndpoint>,
    epoch: u64,
    connect_timeout: Duration,
    silence: Duration,
) -> Result<View, SetupError> {
    let ask = |candidate| ask(candidate, Limits::new(connect_timeout, silence));
    let mut left = candidates.into_iter().take(MOST);
    let mut asked = JoinSet::new();
    for candidate in left.by_ref().take(ABREAST) {
        asked.spawn(ask(candidate));
    }
    let mut best: Option<View> = None;
    let mut worst: Option<SetupError> = None;
    while let Some(answer) = asked.join_next().await {
        match answer {
            Ok(Ok(view)) => {
                if view.works && view.epoch >= epoch {
                    return Ok(view);
                }
                if best.as_ref().is_none_or(|best| best.epoch < view.epoch) {
                    best = Some(view);
                }
            }
            Ok(Err(error)) => {
                if worst.as_ref().is_none_or(is_passing) {
                    worst = Some(error);
                }
            }
            Err(_) => {}
        }
        if let Some(candidate) = left.next() {
            asked.spawn(ask(candidate));
        }
    }
    best.ok_or_else(|| worst.unwrap_or_else(nobody))
}

/// Whether another node may do, or the same one later.
pub(super) fn is_passing(error: &SetupError) -> bool {
    matches!(
        error,
        SetupError::Unreachable { .. } | SetupError::NotPrimary { .. }
    )
}

async fn ask(candidate: RedisEndpoint, limits: Limits) -> Result<View, SetupError> {
    let mut view = View::default();
    let read = |index, reply: &redis::Value<'_>| view.read(index, reply, &candidate.address);
    redis::inquire(&candidate, &View::QUESTIONS, limits, read).await?;
    if view.ranges.is_empty() {
        let source = StoreError::disconnected("the node knows of no slot that is served");
        let address = candidate.address.to_string();
        return Err(SetupError::Unreachable { address, source });
    }
    Ok(view)
}

fn nobody() -> SetupError {
    SetupError::InvalidUrl {
        reason: "it names no node".to_owned(),
    }
}

/// In any order, so that the members of a cluster do not all ask the same node.
pub(super) fn shuffle<T>(items: &mut [T]) {
    for last in (1..items.len()).rev() {
        let chosen = Uuid::new_v4().as_u128() % (last as u128 + 1);
        items.swap(last, chosen as usize);
    }
}
