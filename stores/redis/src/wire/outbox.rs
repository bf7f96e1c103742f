//! [`Outbox`]: bytes to be written by callers and the background thread, one at a time.

use std::io;
use std::sync::Arc;

use auto_mutex_net::socket::Stream;
use redis::Cmd;

const KEPT: usize = 64 << 10;

#[derive(Default)]
pub(crate) struct Outbox {
    pub(crate) stream: Option<Arc<Stream>>,
    pub(crate) filling: Vec<u8>,
    /// The command being encoded. The next command reuses its memory.
    command: Cmd,
    /// What the last writer has put back; `None` while a thread writes, and without a connection.
    chunk: Option<Chunk>,
}

pub(crate) struct Chunk {
    stream: Arc<Stream>,
    bytes: Vec<u8>,
    written: usize,
}

impl Outbox {
    pub(crate) fn open(&mut self, stream: Option<Arc<Stream>>) {
        let chunk = stream.clone().map(|stream| Chunk {
            stream,
            bytes: Vec::new(),
            written: 0,
        });
        *self = Self {
            stream,
            chunk,
            ..Self::default()
        };
    }

    pub(crate) fn encode(&mut self, build: impl FnOnce(&mut Cmd) -> &mut Cmd) {
        let before = self.filling.len();
        build(&mut self.command);
        self.command.write_packed_command(&mut self.filling);
        match self.filling.len() - before > KEPT {
            true => self.command = Cmd::new(),
            false => self.command.clear(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.filling.len() + self.left()
    }

    pub(crate) fn is_stuck(&self) -> bool {
        self.left() > 0
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.chunk.is_none()
    }

    fn left(&self) -> usize {
        let chunk = self.chunk.as_ref();
        chunk.map_or(0, |chunk| chunk.bytes.len() - chunk.written)
    }

    /// The writer must put the bytes back. Until then, no other writer gets any.
    pub(crate) fn take(&mut self) -> Option<Chunk> {
        if self.len() == 0 {
            return None;
        }
        let mut chunk = self.chunk.take()?;
        if chunk.bytes.is_empty() {
            std::mem::swap(&mut chunk.bytes, &mut self.filling);
        }
        Some(chunk)
    }

    /// Returns whether the chunk belongs to the current connection.
    pub(crate) fn put_back(&mut self, mut chunk: Chunk) -> bool {
        let current = self.stream.as_ref();
        if !current.is_some_and(|current| Arc::ptr_eq(current, &chunk.stream)) {
            return false;
        }
        if chunk.written == chunk.bytes.len() {
            chunk.written = 0;
            chunk.bytes.clear();
            if chunk.bytes.capacity() > KEPT {
                chunk.bytes = Vec::new();
            }
        }
        self.chunk = Some(chunk);
        true
    }
}

impl Chunk {
    pub(crate) fn write(&mut self) -> io::Result<()> {
        self.stream.write(&self.bytes, &mut self.written)
    }
}
