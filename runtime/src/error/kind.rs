//! The capacity of a name tells which kind of lock it is.

/// The capacity of a mutex.
pub(crate) const MUTEX: u32 = 1;
/// The capacity of a readers-writer lock: a reader takes one unit, a writer all.
pub(crate) const RW_LOCK: u32 = 1 << 30;

/// The kind of lock that has this capacity, in words.
pub(super) fn of(capacity: u32) -> String {
    match capacity {
        MUTEX => "a mutex".to_owned(),
        RW_LOCK => "a readers-writer lock".to_owned(),
        permits => format!("a semaphore of {permits} permits"),
    }
}
