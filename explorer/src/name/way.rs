//! [`follow`]: goes a way as it happens. A way leads through canonical worlds, in which clients are numbered by what
//! they do, and what makes no difference is gone. Here each client keeps its number, and each message its place.

use std::mem::discriminant;

use auto_mutex_protocol::Ticket;

use super::rules::Setup;
use super::world::{Action, Member, World};

/// Calls `each` for every step, with the worlds before and after it. What cannot happen is left out, and no message is
/// lost because there are too many.
pub fn follow(run: &Setup, way: &[Action], mut each: impl FnMut(&World, Action, &World)) {
    let mut patient = run.clone();
    patient.rules.messages = u8::MAX;
    let (mut canonical, mut world) = (World::new(run), World::new(run));
    let mut numbers: Vec<_> = (0..run.clients).collect();
    // Answers that a client ignores don't keep it from sending.
    patient.rules.pipeline = u8::MAX;
    let mut go = |world: &mut World, action| {
        let mut enabled = Vec::new();
        world.enabled(&patient, &mut enabled);
        assert!(enabled.contains(&action), "nobody can do this: {action:?}");
        let mut next = world.clone();
        next.happen(action, &patient);
        each(world, action, &next);
        *world = next;
    };
    for action in way {
        let mut enabled = Vec::new();
        canonical.enabled(run, &mut enabled);
        if !enabled.contains(action) {
            continue;
        }
        let mut next = canonical.clone();
        next.happen(*action, run);
        let order = next.canonical(run);
        if next == canonical {
            continue;
        }
        let ours = action.renumbered(|me| numbers[usize::from(me)]);
        if let Action::Reply(me) = ours {
            while is_ignored(&world.members[usize::from(me)]) {
                go(&mut world, ours);
            }
        }
        let ours = placed(ours, *action, (&canonical, &world));
        go(&mut world, ours);
        let before = numbers.clone();
        for (new, old) in order.into_iter().zip(before) {
            numbers[usize::from(new)] = old;
        }
        canonical = next;
    }
}

/// Whether the client ignores the next answer.
fn is_ignored(member: &Member) -> bool {
    let next = member.link.answers.front();
    let ticket = next.and_then(|(answer, _)| answer.request.op.ticket());
    ticket.is_some_and(|ticket| !knows(member, ticket))
}

fn knows(member: &Member, ticket: Ticket) -> bool {
    member.state.ticket(ticket.public()).is_some()
}

/// With the place of the same message, or of the same late copy.
fn placed(ours: Action, theirs: Action, (canonical, world): (&World, &World)) -> Action {
    use Action::{Copy, Late, Lose, Message};
    let (Message(me, _) | Copy(me, _) | Lose(me, _) | Late(me, _)) = ours else {
        return ours;
    };
    let (Message(of, index) | Copy(of, index) | Lose(of, index) | Late(of, index)) = theirs else {
        return ours;
    };
    let member = &world.members[usize::from(me)];
    let (link, known) = (&member.link, &canonical.members[usize::from(of)].link);
    let index = usize::from(index);
    let place = if let Late(..) = ours {
        let kind = discriminant(&known.late[index].0.1);
        (link.late.iter()).position(|((_, op), _)| discriminant(op) == kind)
    } else {
        let kind = discriminant(&known.messages[index].0);
        (link.messages.iter()).position(|(message, _)| {
            let is_known = message.ticket().is_none_or(|ticket| knows(member, ticket));
            is_known && discriminant(message) == kind
        })
    };
    let place = place.unwrap_or_else(|| panic!("nobody can do this: {theirs:?}")) as u8;
    match ours {
        Message(..) => Message(me, place),
        Copy(..) => Copy(me, place),
        Lose(..) => Lose(me, place),
        _ => Late(me, place),
    }
}
