//! Notes of a run: the kinds of outcomes that it met, and the operations, to be printed if the run fails.

use std::thread::panicking;

use auto_mutex_seam::store::{LIMITS, MemberId, Message, NameRecord, Op, Reply};

use super::Outcome;

/// Returns the kinds of outcomes that an operation has met.
pub(super) fn kinds(op: &Op, outcome: &Outcome, before: &NameRecord) -> Vec<String> {
    let kind = |value: &dyn std::fmt::Debug| {
        let text = format!("{value:?}");
        let end = text.find(|c: char| !c.is_alphanumeric());
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let mut asked = kind(op);
    if let Op::Signal { signal, .. } = op {
        asked = format!("{asked} {}", kind(signal));
    }
    let detail = match outcome.reply {
        Reply::Granted {
            signal: Some(_), ..
        } => " of a signal",
        Reply::Count(0) => " nobody",
        _ => "",
    };
    let mut kinds = vec![format!("{asked} {}{detail}", kind(&outcome.reply))];
    for (_, message) in &outcome.messages {
        let signal = matches!(
            message,
            Message::Grant {
                signal: Some(_),
                ..
            }
        );
        let detail = if signal { " of a signal" } else { "" };
        kinds.push(format!("told {}{detail}", kind(message)));
    }
    if matches!(asked.as_str(), "Acquire" | "Touch" | "Release") {
        kinds.push(format!("{} {asked} {}", outcome.form, kind(&outcome.reply)));
    }
    let is_grant = |told: &&(MemberId, Message)| matches!(told.1, Message::Grant { .. });
    if outcome.messages.iter().filter(is_grant).count() == LIMITS.batch {
        kinds.push("as many grants as one operation makes".into());
    }
    let units = |info: &NameRecord, ticket| {
        let mut holders = info.holders.iter();
        holders
            .find(|holder| Some(holder.ticket) == ticket)
            .map(|holder| holder.units)
    };
    if units(&outcome.info, op.ticket()) < units(before, op.ticket())
        && matches!(op, Op::Touch { .. })
    {
        kinds.push("a downgrade".into());
    }
    let keeps = |info: &NameRecord| info.holders.iter().any(|holder| holder.kept);
    match (keeps(before), keeps(&outcome.info)) {
        (true, false) if !outcome.info.holders.is_empty() => {
            kinds.push("a kept lock in use".into())
        }
        (false, true) => kinds.push("a kept lock out of use".into()),
        _ => {}
    }
    kinds
}

/// If the run fails, prints how to repeat it, and the earlier operations on the same name.
pub(super) struct Trail {
    seed: u64,
    start: u64,
    /// The time, the index of the name, the member, and the operation.
    pub(super) asked: Vec<(u64, usize, MemberId, Op)>,
}

impl Trail {
    pub(super) fn new(seed: u64, start: u64) -> Self {
        Self {
            seed,
            start,
            asked: Vec::new(),
        }
    }
}

impl Drop for Trail {
    fn drop(&mut self) {
        if !panicking() {
            return;
        }
        let Some(&(_, failed, ..)) = self.asked.last() else {
            return;
        };
        let of_name = self.asked.iter().filter(|asked| asked.1 == failed);
        let mut of_name: Vec<_> = of_name.collect();
        for (now, _, member, op) in of_name.split_off(of_name.len().saturating_sub(12)) {
            let at = now.cast_signed() - self.start.cast_signed();
            eprintln!("{at} µs, {member:?}: {op:?}");
        }
        eprintln!(
            "The last is operation {} of the run. Repeat it:",
            self.asked.len()
        );
        eprintln!("AUTO_MUTEX_SEED={} and the same test", self.seed);
    }
}
