//! A program has nothing of what the test kit does to a client.

use std::sync::Arc;

use super::ClientCore;
use crate::queue::Witness;

#[derive(Default)]
pub(super) struct Tested;

impl Tested {
    #[inline]
    pub(super) fn is_forked(&self) -> bool {
        false
    }
}

impl ClientCore {
    #[inline]
    pub(crate) fn witness(&self) -> Option<Arc<dyn Witness>> {
        None
    }
}
