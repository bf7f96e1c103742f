//! [`Record`]: one turn of a task (acquire, body, release). And the file to which a process writes its turns.
//!
//! The file has, for each task, the number of its records and then the records. All numbers are 64 bits, little-endian.

use std::fs;
use std::io;
use std::path::Path;

/// The times when a task asked for the lock, entered and left its body, and had released the lock: nanoseconds of the
/// common clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) asked: u64,
    pub(crate) entered: u64,
    pub(crate) left: u64,
    pub(crate) done: u64,
    /// The units of the name that the turn took.
    pub(crate) units: u64,
}

pub(crate) fn write(path: &Path, tasks: &[Vec<Record>]) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut number = |number: u64| bytes.extend_from_slice(&number.to_le_bytes());
    for records in tasks {
        number(records.len() as u64);
        for record in records {
            let Record {
                asked,
                entered,
                left,
                done,
                units,
            } = *record;
            [asked, entered, left, done, units]
                .into_iter()
                .for_each(&mut number);
        }
    }
    fs::write(path, bytes)
}

/// The records of each task.
pub(crate) fn read(path: &Path) -> io::Result<Vec<Vec<Record>>> {
    let bytes = fs::read(path)?;
    let mut words = bytes.chunks_exact(8).map(|word| {
        let mut number = [0; 8];
        number.copy_from_slice(word);
        u64::from_le_bytes(number)
    });
    let mut tasks = Vec::new();
    while let Some(count) = words.next() {
        let mut next = || words.next().ok_or(io::ErrorKind::UnexpectedEof);
        let mut records = Vec::new();
        for _ in 0..count {
            records.push(Record {
                asked: next()?,
                entered: next()?,
                left: next()?,
                done: next()?,
                units: next()?,
            });
        }
        tasks.push(records);
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let record = |asked| Record {
            asked,
            entered: asked + 1,
            left: asked + 2,
            done: asked + 3,
            units: 1,
        };
        let tasks = vec![
            vec![record(5), record(9)],
            vec![],
            vec![record(u64::MAX - 3)],
        ];
        let file = std::env::temp_dir().join(format!("records-{}", std::process::id()));
        write(&file, &tasks).unwrap();
        let again = read(&file);
        fs::remove_file(&file).unwrap();
        assert_eq!(again.unwrap(), tasks);
    }
}
