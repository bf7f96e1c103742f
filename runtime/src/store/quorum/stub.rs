//! [`Stub`]: a way to a node that leads to a test.

use std::sync::Mutex;

use crate::store::{Answer, Request, Store};

/// What is submitted, until the test takes it.
#[derive(Debug, Default)]
pub(super) struct Stub(pub(super) Mutex<Vec<Request>>);

impl Store for Stub {
    fn submit(&self, request: Request) -> Option<Answer> {
        self.0.lock().unwrap().push(request);
        None
    }

    fn close(&self) {}
}
