//! A redis-server of the test itself: there is none on Windows.

/// Never made: the servers are outside, and only their URLs are known.
#[derive(Debug)]
pub enum Redis {}

/// A key of the library.
#[derive(Debug, PartialEq, Eq)]
pub struct Key {
    /// The key's name.
    pub name: String,
}

impl Redis {
    /// The keys of all names.
    pub fn keys(&self) -> Vec<Key> {
        match *self {}
    }

    /// Sends a command.
    pub fn command(&self, _: &[&str]) -> String {
        match *self {}
    }

    /// Suspends the server.
    pub fn stop(&self) {
        match *self {}
    }

    /// Lets the server continue.
    pub fn cont(&self) {
        match *self {}
    }
}
