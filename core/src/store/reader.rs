//! [`Reader`]: reads the names of a store for the operator, and changes nothing there.
//!
//! A client of a store writes the server's term note, tries all commands, and subscribes. A reader does none of these: it
//! scans, runs the operation `inspect`, and asks servers about themselves.

use std::future::Future;
use std::pin::Pin;

use super::snapshot::{KeyEnd, Server, Snapshot};
use crate::error::SetupError;
use crate::name::Name;

/// A future of a reader.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Some items of a scan, and the position of the next ones; `None` at the end.
pub type Part<T> = (Vec<T>, Option<Position>);

/// A key, and the address of its server.
pub type KeyAt = (String, KeyEnd);

/// The self-description of a server; or its address and the error, if the server cannot be asked.
pub type Described = Result<Server, (String, SetupError)>;

/// Reads the names of a store.
pub trait Reader: Send {
    /// Connects to the servers. At least one node of a cluster must be reachable, and a majority of a quorum.
    fn connect(&mut self) -> Reading<'_, Result<(), SetupError>>;

    /// The next names that match `pattern`, a pattern of SCAN. A scan may return a name twice.
    fn names<'a>(
        &'a mut self,
        pattern: &'a str,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<Name>, SetupError>>;

    /// The state of each name.
    fn inspect<'a>(&'a mut self, names: &'a [Name]) -> Reading<'a, Result<Snapshot, SetupError>>;

    /// The next keys of the library. The keys of an unreachable server are left out if there are others:
    /// [`describe`](Self::describe) reports such a server.
    fn keys<'a>(
        &'a mut self,
        position: &'a Position,
    ) -> Reading<'a, Result<Part<KeyAt>, SetupError>>;

    /// Asks each server to describe itself.
    fn describe(&mut self) -> Reading<'_, Vec<Described>>;
}

/// The position of a scan of the whole store: a server, and its cursor.
#[derive(Clone, Debug)]
pub struct Position {
    /// The number of the server.
    pub server: usize,
    /// The cursor of its scan.
    pub cursor: String,
}

impl Position {
    /// The start of the first scan.
    pub fn start() -> Self {
        Self::at(0)
    }

    /// Whether this is the start of a scan. A server returns the cursor `0` only at the end, so no later position is
    /// equal to the start.
    pub fn is_start(&self) -> bool {
        self.server == 0 && self.cursor == "0"
    }

    /// The same position in the scan of this server alone.
    pub fn alone(&self) -> Self {
        Self {
            server: 0,
            cursor: self.cursor.clone(),
        }
    }

    fn at(server: usize) -> Self {
        Self {
            server,
            cursor: "0".to_owned(),
        }
    }

    /// The position after a part of this server's scan; `None` after the last part of the last server. `next`: the server's
    /// next cursor.
    pub fn after(&self, next: Option<String>, servers: usize) -> Option<Self> {
        match next {
            Some(cursor) => Some(Self {
                server: self.server,
                cursor,
            }),
            None => (self.server + 1 < servers).then(|| Self::at(self.server + 1)),
        }
    }
}
