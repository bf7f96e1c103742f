//! Turns events into a history of holds for each name.

use std::collections::BTreeMap;

use super::{Event, Lock, Span, Step, What};

/// The lock and the history of each name. A name that no task is known to have held is left out.
pub fn holds(tasks: &BTreeMap<String, Vec<Event>>) -> BTreeMap<String, (Lock, Vec<Span<Step>>)> {
    let mut names = BTreeMap::<String, (Lock, Vec<Span<Step>>)>::new();
    let mut count = 0;
    for events in tasks.values() {
        let (mut asked, mut left) = (0, 0);
        let mut current = None;
        for event in events {
            match &event.what {
                What::Ask => asked = event.at,
                What::Got {
                    name,
                    token,
                    units,
                    capacity,
                } => {
                    let capacity = *capacity;
                    let (_, spans) = names
                        .entry(name.clone())
                        .or_insert((Lock { capacity }, Vec::new()));
                    let hold = count;
                    count += 1;
                    let (units, token) = (*units, *token);
                    spans.push(Span {
                        op: Step::Grant { hold, units, token },
                        who: event.who.clone(),
                        from: asked,
                        to: Some(event.at),
                    });
                    // The guard has confirmed nothing yet: the hold may have ended already.
                    spans.push(Span {
                        op: Step::End { hold },
                        who: event.who.clone(),
                        from: asked,
                        to: None,
                    });
                    current = Some((name.clone(), spans.len() - 1));
                }
                what => {
                    if let Some((name, end)) = &current
                        && let Some((_, spans)) = names.get_mut(name)
                    {
                        if *what == What::Leave {
                            left = event.at;
                        }
                        go_on(spans, *end, left, event.at, what);
                    }
                }
            }
        }
    }
    for (_, spans) in names.values_mut() {
        spans.sort_by_key(|span| span.from);
    }
    names
}

/// Applies one event to a hold. `end` is the index of the hold's [`Step::End`], and `left` the time at which the
/// release began.
fn go_on(spans: &mut Vec<Span<Step>>, end: usize, left: u64, at: u64, what: &What) {
    let hold = spans[end].op.hold();
    match *what {
        What::Sure => spans[end].from = at,
        What::Shrink(units) => {
            let who = spans[end].who.clone();
            spans.push(Span {
                op: Step::Shrink { hold, units },
                who,
                from: at,
                to: None,
            });
        }
        What::Shrunk => {
            let is_it = |span: &&mut Span<Step>| matches!(span.op, Step::Shrink { hold: of, .. } if of == hold);
            if let Some(shrink) = spans.iter_mut().rfind(is_it) {
                shrink.to = Some(at);
                // The request succeeded, so the lock was still held when the task made it.
                let asked = shrink.from;
                spans[end].from = asked;
            }
        }
        // The release succeeded, so the lock was still held when the release began.
        What::Left(true) => {
            spans[end].from = left;
            spans[end].to = Some(at);
        }
        _ => {}
    }
}
