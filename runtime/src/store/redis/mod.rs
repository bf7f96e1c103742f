//! The Redis store.
use super::{Answer, Events, Member, Request, Store};
use crate::config::RedisEndpoint;
use crate::error::SetupError;
use std::sync::Arc;
use std::time::Duration;
pub(crate) struct RedisStore;
pub(crate) struct Driver;
pub(crate) async fn connect(
    _: &RedisEndpoint,
    _: Duration,
    _: Member,
) -> Result<(Arc<RedisStore>, Driver), SetupError> {
    Err(SetupError::UnsupportedStore {
        scheme: "redis".into(),
        reason: "",
    })
}
impl Driver {
    pub(crate) async fn run(self, _: Arc<dyn Events>) {}
}
impl RedisStore {
    pub(crate) fn close(&self) {}
}
impl Store for RedisStore {
    fn submit(&self, _: Request) -> Option<Answer> {
        None
    }
}
