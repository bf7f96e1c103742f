//! The end of the process: what is held is released, and what was released is sent.

use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::clock::Instant;
use crate::member::Member;
use crate::sync::Mutex;
use crate::wait::lock;

/// How long the end of the process may be held up.
const LIMIT: Duration = Duration::from_millis(500);

static MEMBERS: Mutex<Vec<Weak<Member>>> = Mutex::new(Vec::new());

/// Flushes `member` when the process ends.
pub(crate) fn watch(member: &Arc<Member>) {
    if !super::os::register() {
        tracing::warn!(
            "cannot watch the end of the process: locks held then are freed by their lease"
        );
    }
    let mut members = lock(&MEMBERS);
    members.retain(|member| member.strong_count() > 0);
    members.push(Arc::downgrade(member));
}

/// Releases all locks of all clients. Called at exit; the engines still run then.
pub(super) fn flush() {
    let members: Vec<_> = match MEMBERS.try_lock() {
        Ok(members) => members.iter().filter_map(Weak::upgrade).collect(),
        // Somebody makes a client while the process ends.
        Err(_) => return,
    };
    // All first, so that none waits for the server of another.
    for member in &members {
        member.start_closing();
    }
    let ends = Instant::now().after(LIMIT);
    for member in members {
        if !member.finish_closing(ends) {
            tracing::warn!("not every release was answered before the end; leases free the rest");
        }
    }
}
