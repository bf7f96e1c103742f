//! The independent witness: a folder. It knows nothing of locks, Redis or clocks.
//!
//! Who enters makes a file there, then looks who else has one; who leaves removes its own. Of two that are inside
//! at the same time, the later one finds the earlier one's file, so no overlap is missed. A killed worker
//! cannot remove its file: whoever killed it does, once the process is gone, and only that file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folder, as anybody may use it.
#[derive(Clone, Debug)]
pub(crate) struct Witness {
    dir: PathBuf,
}

impl Witness {
    pub(crate) fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Puts down that `worker` is inside. Fails if it is already.
    pub(crate) fn enter(&self, worker: usize) -> io::Result<Presence> {
        let file = self.dir.join(worker.to_string());
        // Atomic: the file is there with its name, or not at all.
        fs::File::create_new(&file)?;
        let presence = Presence { file };
        Ok(presence)
    }

    /// Everybody inside but `worker`.
    pub(crate) fn others(&self, worker: usize) -> io::Result<Vec<usize>> {
        let mut others = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name();
            if let Some(other) = name.to_str().and_then(|name| name.parse().ok())
                && other != worker
            {
                others.push(other);
            }
        }
        Ok(others)
    }

    /// Removes what a dead worker left. Says whether it was inside.
    pub(crate) fn bury(&self, worker: usize) -> bool {
        fs::remove_file(self.dir.join(worker.to_string())).is_ok()
    }
}

/// Somebody is inside until this is dropped.
pub(crate) struct Presence {
    file: PathBuf,
}

impl Drop for Presence {
    fn drop(&mut self) {
        // If the folder is gone, so is the show.
        let _ = fs::remove_file(&self.file);
    }
}
