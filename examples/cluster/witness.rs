//! The independent witness: a folder. It uses no locks, no Redis and no clocks.
//!
//! A worker that enters creates a file in the folder and then looks for files of others; a worker that leaves removes
//! its file. If two workers are inside at the same time, the later one finds the file of the earlier one, so no overlap
//! is missed. A killed worker cannot remove its file: the show removes that file once the process is gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The witness's folder, which the show and all workers share.
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

    /// Records that `worker` is inside. Fails if `worker` is inside already.
    pub(crate) fn enter(&self, worker: usize) -> io::Result<Presence> {
        let file = self.dir.join(worker.to_string());
        // Creating a file is atomic: others see the file with its name, or no file.
        fs::File::create_new(&file)?;
        let presence = Presence { file };
        Ok(presence)
    }

    /// Returns all workers inside except `worker`.
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

    /// Removes the file of a dead worker. Returns whether the worker was inside.
    pub(crate) fn bury(&self, worker: usize) -> bool {
        fs::remove_file(self.dir.join(worker.to_string())).is_ok()
    }
}

/// Its worker is inside until this is dropped.
pub(crate) struct Presence {
    file: PathBuf,
}

impl Drop for Presence {
    fn drop(&mut self) {
        // This fails only if the folder is gone, and then the show is over.
        let _ = fs::remove_file(&self.file);
    }
}
