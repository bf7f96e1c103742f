//! Replies as the servers of engines write them.

use auto_mutex_protocol::{HolderRecord, Reply};

/// The text of a reply. `None` for an `Info`.
pub(super) fn of(reply: &Reply) -> Option<String> {
    let with = |words: String, holder: &Option<HolderRecord>| match holder {
        Some(holder) => format!("{words} {} {}", holder.token, &*holder.meta),
        None => words,
    };
    Some(match reply {
        Reply::Granted { token, signal } => match signal {
            Some(signal) => format!("GRANTED {token} {signal}"),
            None => format!("GRANTED {token}"),
        },
        Reply::Queued {
            position,
            again,
            holder,
        } => with(format!("QUEUED {position} {}", again.as_millis()), holder),
        Reply::Busy { holder } => with("BUSY".into(), holder),
        Reply::Kept { holder } => with("KEPT".into(), &Some(holder.clone())),
        Reply::Mismatch { capacity, takes } => format!("MISMATCH {capacity} {}", u8::from(*takes)),
        Reply::InUse { holders, waiters } => format!("IN_USE {holders} {waiters}"),
        Reply::Released { free } => format!("RELEASED {free}"),
        Reply::Count(count) => format!("COUNT {count}"),
        Reply::Refused => "REFUSED".into(),
        Reply::TooMany => "TOO_MANY".into(),
        Reply::Gone => "GONE".into(),
        Reply::Cancelled => "CANCELLED".into(),
        Reply::Info(_) => return None,
    })
}
