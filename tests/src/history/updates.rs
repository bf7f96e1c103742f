//! Turns events into a history of updates for each name's register.

use std::collections::BTreeMap;

use super::{Event, Span, Update, What};

/// The history of each name's register.
pub fn updates(tasks: &BTreeMap<String, Vec<Event>>) -> BTreeMap<String, Vec<Span<Update>>> {
    let mut names = BTreeMap::<String, Vec<Span<Update>>>::new();
    for events in tasks.values() {
        let mut held = None;
        let mut began = 0;
        for event in events {
            match &event.what {
                What::Got { name, token, .. } => held = Some((name, *token)),
                What::Read => began = event.at,
                What::Value(Some(value)) => {
                    let (name, token) = held.expect("who reads holds a lock");
                    let update = Update {
                        token,
                        read: value.clone(),
                        wrote: None,
                    };
                    let spans = names.entry(name.clone()).or_default();
                    spans.push(Span {
                        op: update,
                        who: event.who.clone(),
                        from: began,
                        to: Some(event.at),
                    });
                }
                // The read and the write become one update. Until the answer, it is unknown whether the write was done.
                What::Write(value) => {
                    if let Some(span) = last(&mut names, held) {
                        span.op.wrote = Some(value.clone());
                        span.to = None;
                    }
                }
                What::Wrote(taken) => {
                    if let Some(span) = last(&mut names, held) {
                        span.to = Some(event.at);
                        if !taken {
                            span.op.wrote = None;
                        }
                    }
                }
                _ => {}
            }
        }
    }
    for spans in names.values_mut() {
        spans.sort_by_key(|span| span.from);
    }
    names
}

fn last<'a>(
    names: &'a mut BTreeMap<String, Vec<Span<Update>>>,
    held: Option<(&String, u64)>,
) -> Option<&'a mut Span<Update>> {
    names.get_mut(held?.0)?.last_mut()
}
