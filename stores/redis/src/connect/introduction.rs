//! [`Introduction`]: CLIENT SETINFO, so that `CLIENT LIST` shows which library a connection belongs to.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wire::{Connection, Value};

/// The only fields that are sent, and their values.
const WORDS: [[&str; 2]; 2] = [
    ["LIB-NAME", "auto-mutex"],
    ["LIB-VER", env!("CARGO_PKG_VERSION")],
];

/// The introduction of this library. It is sent on each connection, but not again after a refusal, because each refusal
/// makes an entry in the server's ACL LOG.
#[derive(Debug, Default)]
pub(super) struct Introduction {
    refused: AtomicBool,
}

impl Introduction {
    /// Writes the commands; returns whether there are [`replies`](Self::hear) to read.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> bool {
        let wanted = !self.refused.load(Ordering::Relaxed);
        if wanted {
            for [field, value] in WORDS {
                let mut introduce = redis::cmd("CLIENT");
                introduce.arg("SETINFO").arg(field).arg(value);
                introduce.write_packed_command(out);
            }
        }
        wanted
    }

    /// Reads the replies. A refusal is no error, because the right to CLIENT SETINFO is optional.
    pub(super) async fn hear(&self, connection: &mut Connection) -> io::Result<()> {
        for _ in WORDS {
            if let Value::Error(_) = connection.reply().await? {
                self.refused.store(true, Ordering::Relaxed);
            }
        }
        Ok(())
    }
}
