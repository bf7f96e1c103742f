//! [`Dialer`]: the program's own function for connecting to a host and port.

use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection that the program has made.
pub trait DialedStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> DialedStream for S {}

type Dialing = Pin<Box<dyn Future<Output = io::Result<Box<dyn DialedStream>>> + Send>>;

/// The argument of `Config::dialer`. Clones of one dialer are equal.
#[derive(Clone)]
pub struct Dialer(Arc<dyn Fn(String, u16) -> Dialing + Send + Sync>);

impl Dialer {
    /// A dialer that calls `dial` with a host and a port.
    pub fn new<F, R, S>(dial: F) -> Self
    where
        F: Fn(String, u16) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<S>> + Send + 'static,
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        Self(Arc::new(move |host, port| {
            let dialing = dial(host, port);
            Box::pin(async move {
                let stream: Box<dyn DialedStream> = Box::new(dialing.await?);
                Ok(stream)
            })
        }))
    }

    /// Calls the program's function, which may block or panic.
    pub fn dial(&self, host: String, port: u16) -> Dialing {
        (self.0)(host, port)
    }
}

// A panic in the program's function ends only the thread that runs it.
impl UnwindSafe for Dialer {}
impl RefUnwindSafe for Dialer {}

impl PartialEq for Dialer {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Dialer {}

impl fmt::Debug for Dialer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dialer")
    }
}
