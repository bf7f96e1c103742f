//! [`Outbox`]: bytes to write. Callers and the engine write them, one at a time.

use std::io;
use std::sync::Arc;

use redis::Cmd;

use super::stream::Writing;

/// The maximum capacity that a buffer keeps after a burst.
const KEPT: usize = 64 << 10;

/// The bytes that no writer has taken yet, and the bytes that are being written.
#[derive(Default)]
pub(in super::super) struct Outbox {
    socket: Option<Arc<Writing>>,
    filling: Vec<u8>,
    /// The command that is being encoded. It is kept for its memory, which the next command reuses.
    command: Cmd,
    /// The bytes that the last writer has put back; `None` while a thread writes.
    chunk: Option<Vec<u8>>,
    /// How much of `chunk` is written.
    written: usize,
    /// The number of the socket: bytes for an earlier socket are dropped.
    generation: u64,
}

/// Bytes that a writer has taken.
pub(in super::super) struct Chunk {
    socket: Arc<Writing>,
    bytes: Vec<u8>,
    written: usize,
    generation: u64,
}

impl Outbox {
    /// Starts again, with this socket and an empty buffer.
    pub(in super::super) fn open(&mut self, socket: Option<Arc<Writing>>) {
        *self = Self {
            socket,
            chunk: Some(Vec::new()),
            generation: self.generation + 1,
            ..Self::default()
        };
    }

    /// The buffer to append to.
    pub(in super::super) fn filling(&mut self) -> &mut Vec<u8> {
        &mut self.filling
    }

    /// Appends a command.
    pub(in super::super) fn encode(&mut self, build: impl FnOnce(&mut Cmd) -> &mut Cmd) {
        let before = self.filling.len();
        build(&mut self.command);
        self.command.write_packed_command(&mut self.filling);
        match self.filling.len() - before > KEPT {
            true => self.command = Cmd::new(),
            false => self.command.clear(),
        }
    }

    pub(in super::super) fn is_open(&self) -> bool {
        self.socket.is_some()
    }

    /// How many bytes wait for a writer.
    pub(in super::super) fn len(&self) -> usize {
        self.filling.len() + self.left()
    }

    /// Whether the socket took only a part of the bytes.
    pub(in super::super) fn is_stuck(&self) -> bool {
        self.left() > 0
    }

    /// Whether a thread is writing.
    pub(in super::super) fn is_taken(&self) -> bool {
        self.chunk.is_none()
    }

    pub(in super::super) fn socket(&self) -> Option<Arc<Writing>> {
        self.socket.clone()
    }

    fn left(&self) -> usize {
        self.chunk.as_ref().map_or(0, Vec::len) - self.written
    }

    /// Takes the bytes to write. The writer must put them back; no other writer gets bytes until then.
    pub(in super::super) fn take(&mut self) -> Option<Chunk> {
        if self.len() == 0 {
            return None;
        }
        let socket = self.socket.clone()?;
        let mut bytes = self.chunk.take()?;
        if self.written == bytes.len() {
            self.written = 0;
            bytes.clear();
            std::mem::swap(&mut bytes, &mut self.filling);
        }
        Some(Chunk {
            socket,
            bytes,
            written: std::mem::take(&mut self.written),
            generation: self.generation,
        })
    }

    /// Takes a chunk back; returns whether it belongs to the current socket.
    pub(in super::super) fn put_back(&mut self, mut chunk: Chunk) -> bool {
        if chunk.generation != self.generation {
            return false;
        }
        if chunk.written == chunk.bytes.len() {
            chunk.written = 0;
            chunk.bytes.clear();
            if chunk.bytes.capacity() > KEPT {
                chunk.bytes = Vec::new();
            }
        }
        self.written = chunk.written;
        self.chunk = Some(chunk.bytes);
        true
    }
}

impl Chunk {
    /// Writes as much as the socket takes without blocking.
    pub(in super::super) fn write(&mut self) -> io::Result<()> {
        self.socket.write(&self.bytes, &mut self.written)
    }
}
