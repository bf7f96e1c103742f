//! [`Request`] and [`Answer`]: what passes between a client and the servers of its store.

use super::{Op, Reply, StoreError};

/// An operation on a name, with an id for the answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Request<N> {
    /// The name of the lock.
    pub name: N,
    /// What to do.
    pub op: Op,
    /// Identifies the answer.
    pub id: RequestId,
}

impl<N> Request<N> {
    /// Makes the answer to a request that failed.
    pub fn failed(self, error: StoreError) -> Answer<N> {
        Answer {
            request: self,
            result: Err(error),
        }
    }

    /// Answers a request that no server has seen, because there was no connection yet. Hence no server knows the ticket
    /// of a release.
    pub fn unsent(self) -> Answer<N> {
        let result = match self.op {
            Op::Release { .. } => Ok(Reply::Gone),
            _ => Err(not_yet()),
        };
        Answer {
            request: self,
            result,
        }
    }
}

/// The error of a store or server that has never been connected.
pub fn not_yet() -> StoreError {
    StoreError::disconnected("the lock store is not connected yet")
}

/// The id of a request, chosen by the submitter. The answer repeats it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u64);

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Answer<N> {
    /// The request that is answered.
    pub request: Request<N>,
    /// The reply of the store, or why there is none.
    pub result: Result<Reply, StoreError>,
}
