//! Sequences of one member that need exact timing.

mod rig;

use core::time::Duration;

use self::rig::{LEASE, NAME, Rig, Way, acquire, adopt, notification, release, touch};
use super::nodes::NOBODY;
use super::{Effect, Input, Name as _};
use crate::{
    Answer, Cause, Closed, LIMITS, Message, NodeChange, Op, Reply, Request, RequestId, Signal,
    StoreError, Ticket,
};

fn is_granted(answer: &Option<Result<Reply, StoreError>>) -> bool {
    matches!(answer, Some(Ok(Reply::Granted { .. })))
}

#[test]
fn an_adoption_goes_on_after_an_outage() {
    let mut rig = Rig::new(3);
    let (old, new) = (rig.ticket(), rig.ticket());
    assert!(is_granted(&rig.ask(acquire(old, 1, 1))));
    // Node 0 adopts the lock. Node 1 does too, but its answer is lost. Node 2 is unreachable.
    rig.down(2);
    rig.ways[1] = Way::LosesAnswers;
    let lost = rig.ask(adopt(old, new, 1));
    assert!(
        matches!(&lost, Some(Err(error)) if error.is_disconnected()),
        "{lost:?}"
    );
    rig.up(1);
    rig.up(2);
    let adopted = rig.ask(adopt(old, new, 2));
    assert!(is_granted(&adopted), "{adopted:?}");
    assert_eq!(rig.on_nodes(new), 3);
    assert!(matches!(
        rig.ask(release(new, 0)),
        Some(Ok(Reply::Released { .. }))
    ));
    assert_eq!(rig.on_nodes(new) + rig.on_nodes(old), 0);
}

#[test]
fn a_release_that_a_node_refuses_is_sent_again() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    rig.ways[2] = Way::Refuses;
    assert!(matches!(
        rig.ask(release(ticket, 0)),
        Some(Ok(Reply::Released { .. }))
    ));
    rig.pass(Duration::from_millis(300));
    assert_eq!(rig.on_nodes(ticket), 1);
    rig.ways[2] = Way::Answers;
    rig.pass(Duration::from_millis(300));
    assert_eq!(rig.on_nodes(ticket), 0);
    assert!(!rig.quorum.nodes[2].pending.contains_key(&ticket));
}

/// Refused releases are sent again in batches of a hundred.
#[test]
fn all_releases_that_a_node_refuses_are_sent_again() {
    let mut rig = Rig::new(3);
    let tickets: Vec<_> = (0..250).map(|_| rig.ticket()).collect();
    for ticket in &tickets {
        assert!(is_granted(&rig.ask(acquire(*ticket, 1, 300))));
    }
    rig.ways[2] = Way::Refuses;
    for ticket in &tickets {
        rig.ask(release(*ticket, 0));
    }
    rig.ways[2] = Way::Answers;
    for _ in 0..3 {
        rig.pass(Duration::from_millis(300));
    }
    let pending = |ticket: &&Ticket| rig.quorum.nodes[2].pending.contains_key(*ticket);
    assert_eq!(tickets.iter().filter(pending).count(), 0);
}

/// A proxy may delay the requests of a broken connection until long after the member has reconnected.
#[test]
fn a_copy_that_arrives_after_the_release_holds_nothing() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    rig.ways[0] = Way::Delays;
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    rig.down(0);
    rig.up(0);
    for counter in 2..4 {
        rig.ask(touch(ticket, counter));
        rig.pass(Duration::from_millis(100));
    }
    assert_eq!(rig.on_nodes(ticket), 3);
    rig.ask(release(ticket, 0));
    assert_eq!(rig.on_nodes(ticket), 0);
    let late = core::mem::take(&mut rig.kept);
    assert!(!late.is_empty());
    for (node, request) in late {
        rig.execute(node, &request);
    }
    assert_eq!(rig.on_nodes(ticket), 0, "the late copy holds it");
}

#[test]
fn a_release_is_owed_for_as_long_as_a_node_stands_still() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    rig.ways[2] = Way::Freezes;
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    rig.down(2);
    for (node, request) in core::mem::take(&mut rig.kept) {
        let result = Err(StoreError::disconnected("cut"));
        rig.kept.push((node, request.clone()));
        let answer = Answer { request, result };
        rig.take(Input::Answered { node, answer });
    }
    rig.ask(release(ticket, 0));
    rig.pass(Duration::from_secs(60));
    let kept = core::mem::take(&mut rig.kept);
    for (node, request) in kept {
        rig.execute(node, &request);
    }
    assert_eq!(rig.on_nodes(ticket), 1);
    rig.up(2);
    assert_eq!(rig.on_nodes(ticket), 0);
}

#[test]
fn a_late_gone_says_nothing_about_a_newer_acquire() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    let answer = Answer {
        request: Request {
            name: NAME,
            op: touch(ticket, 0),
            id: RequestId(0),
        },
        result: Ok(Reply::Gone),
    };
    rig.take(Input::Answered { node: 2, answer });
    rig.ask(release(ticket, 0));
    assert_eq!(rig.on_nodes(ticket), 0);
}

#[test]
fn rounds_leave_no_timers() {
    let mut rig = Rig::new(3);
    for _ in 0..100 {
        let ticket = rig.ticket();
        assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
        rig.ask(release(ticket, 0));
        assert!(
            rig.quorum.rounds.jobs.timers() < 10,
            "{}",
            rig.quorum.rounds.jobs.timers()
        );
    }
}

#[test]
fn what_was_handed_over_is_forgotten() {
    let mut rig = Rig::new(3);
    for _ in 0..2000 {
        let ticket = rig.ticket();
        assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
        // Nothing releases the ticket, whose lease simply ends.
        rig.pass(LEASE * 3);
    }
    assert!(
        rig.quorum.rounds.tickets.len() < 200,
        "{}",
        rig.quorum.rounds.tickets.len()
    );
}

#[test]
fn nodes_that_are_down_are_not_open() {
    let mut rig = Rig::new(5);
    let until = rig.now.after(Duration::from_secs(9));
    let closed = Closed {
        until,
        cause: Cause::Restart,
    };
    let reported = |rig: &Rig| {
        let told = rig.told.iter().rev();
        told.filter_map(|effect| match effect {
            Effect::Change(NodeChange::Closed(closed)) => Some(*closed),
            _ => None,
        })
        .next()
        .flatten()
    };
    let change = NodeChange::Closed(Some(closed));
    rig.take(Input::Changed { node: 0, change });
    assert_eq!(reported(&rig), None);
    rig.down(1);
    rig.down(2);
    assert_eq!(reported(&rig), Some(closed));
    rig.up(2);
    assert_eq!(reported(&rig), None);
}

#[test]
fn a_used_notification_counts_as_released_where_it_came_from() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    assert!(matches!(
        rig.ask(acquire(ticket, 1, 0)),
        Some(Ok(Reply::Queued { .. }))
    ));
    rig.take(notification(1, ticket, 5));
    rig.ways[1] = Way::Freezes;
    assert!(rig.ask(release(ticket, 5)).is_none(), "it has not spoken");
}

/// Each node reports the signal of the release.
#[test]
fn a_release_wakes_a_waiter_once() {
    let mut rig = Rig::new(3);
    let (holder, waits) = (rig.ticket(), rig.ticket());
    assert!(is_granted(&rig.ask(acquire(holder, 1, 1))));
    rig.ask(acquire(waits, 1, 1));
    rig.ask(release(holder, 0));
    for node in 0..3 {
        let Input::Told { message, .. } = notification(node, waits, 5) else {
            continue;
        };
        let name = NAME.wake_queue();
        rig.take(Input::Told {
            node,
            name,
            message,
        });
    }
    let ask = Effect::Tell {
        name: NAME,
        message: Message::Ask { ticket: waits },
    };
    assert_eq!(rig.told.iter().filter(|it| **it == ask).count(), 1);
    assert!(is_granted(&rig.ask(touch(waits, 2))));
}

#[test]
fn a_place_is_looked_after_when_its_node_is_back() {
    let mut rig = Rig::new(3);
    let (holder, waits) = (rig.ticket(), rig.ticket());
    assert!(is_granted(&rig.ask(acquire(holder, 1, 1))));
    assert!(matches!(
        rig.ask(acquire(waits, 1, 1)),
        Some(Ok(Reply::Queued { .. }))
    ));
    let side = NAME.wake_queue();
    assert!(rig.names[2].contains_key(&side), "{:?}", rig.names[2]);
    // The node is connected again, but without its data.
    rig.down(2);
    rig.names[2].clear();
    rig.up(2);
    rig.ask(touch(waits, 2));
    assert!(rig.names[2].contains_key(&side));
}

/// After the notification, the ticket no longer renews its places on the other nodes. If it kept waiting on a single
/// node, it could miss the next notification.
#[test]
fn a_notification_that_may_not_be_claimed_wakes_for_no_reason() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    assert!(matches!(
        rig.ask(acquire(ticket, 1, 0)),
        Some(Ok(Reply::Queued { .. }))
    ));
    for (node, token) in [(1, 5), (2, 6)] {
        rig.take(notification(node, ticket, token));
    }
    assert_eq!(rig.on_nodes(ticket), 2, "the same one, told twice");
    let answer = rig.ask(touch(ticket, 2));
    assert!(matches!(answer, Some(Ok(Reply::Gone))), "{answer:?}");
    assert_eq!(rig.on_nodes(ticket), 0);
}

#[test]
fn a_notification_that_several_nodes_send_wakes_one_waiter() {
    let mut rig = Rig::new(3);
    let (first, second) = (rig.ticket(), rig.ticket());
    for ticket in [first, second] {
        assert!(matches!(
            rig.ask(acquire(ticket, 1, 0)),
            Some(Ok(Reply::Queued { .. }))
        ));
    }
    let (ticket, signal) = (rig.ticket(), Signal::One);
    rig.ask(Op::Signal { ticket, signal });
    for node in 0..3 {
        let token = rig.inspect(node).holders[0].token;
        rig.take(notification(node, first, token));
    }
    for node in 1..3 {
        assert!(rig.inspect(node).holders.is_empty(), "it was used");
    }
}

/// If two waiting tickets kept the grants of their lost rounds, neither could get a majority.
#[test]
fn a_lost_round_gives_back_what_it_got() {
    let mut rig = Rig::new(3);
    let (holder, loser) = (rig.ticket(), rig.ticket());
    rig.ways[0] = Way::Freezes;
    assert!(is_granted(&rig.ask(acquire(holder, 1, 1))));
    rig.ways[0] = Way::Answers;
    assert!(matches!(
        rig.ask(acquire(loser, 1, 1)),
        Some(Ok(Reply::Queued { .. }))
    ));
    assert_eq!(rig.on_nodes(loser), 0);
}

/// The node may execute the acquire of a lost round much later.
#[test]
fn a_late_grant_of_a_lost_round_is_withdrawn() {
    let mut rig = Rig::new(3);
    let (holder, loser) = (rig.ticket(), rig.ticket());
    rig.ways[0] = Way::Freezes;
    assert!(is_granted(&rig.ask(acquire(holder, 1, 1))));
    rig.kept.clear();
    assert!(matches!(
        rig.ask(acquire(loser, 1, 1)),
        Some(Ok(Reply::Queued { .. }))
    ));
    for (node, request) in core::mem::take(&mut rig.kept) {
        rig.execute(node, &request);
    }
    assert_eq!(rig.on_nodes(loser), 0);
}

/// The next grant has a greater token, because its majority has a node that knows this one.
#[test]
fn a_majority_has_the_token_of_a_grant() {
    let mut rig = Rig::new(3);
    // Their clocks differ, and so do their tokens.
    rig.ahead = vec![0, 50_000, 100_000];
    let ticket = rig.ticket();
    let Some(Ok(Reply::Granted { token, .. })) = rig.ask(acquire(ticket, 1, 1)) else {
        panic!("it is free");
    };
    let tokens = (0..3).map(|node| rig.inspect(node).holders[0].token);
    assert!(tokens.filter(|it| *it == token).count() >= 2);
}

/// In the meantime such a node may have granted to another ticket.
#[test]
fn a_node_that_has_lost_a_ticket_confirms_no_renewal() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    assert!(is_granted(&rig.ask(acquire(ticket, 1, 1))));
    rig.names[2].clear();
    assert!(is_granted(&rig.ask(touch(ticket, 2))));
    // Two nodes still have it, and the third is asked to grant it again.
    rig.names[1].clear();
    assert!(!is_granted(&rig.ask(touch(ticket, 3))));
}

/// A release counts once a majority has executed it. The others still know the mutex when a semaphore, which needs all
/// nodes, takes its name.
#[test]
fn a_minority_that_lags_behind_a_release_does_not_disagree_about_the_kind() {
    let [mutex, semaphore] = [1, 2].map(Ticket::of_public);
    let wait = Duration::from_millis(300);
    let after_release = |late: &[usize]| {
        let mut rig = Rig::new(5);
        assert!(is_granted(&rig.ask(acquire(mutex, 1, 1))));
        for node in late {
            rig.ways[*node] = Way::Freezes;
        }
        rig.ask(release(mutex, 0));
        rig.ways = vec![Way::Answers; 5];
        rig
    };
    let disagrees = |answer| matches!(answer, Some(Ok(Reply::Mismatch { .. })));

    let mut rig = after_release(&[3, 4]);
    assert!(rig.ask(acquire(semaphore, 1, 5)).is_none());
    assert_eq!(rig.on_nodes(semaphore), 0);
    for (node, request) in core::mem::take(&mut rig.kept) {
        rig.execute(node, &request);
    }
    rig.pass(wait);
    assert!(is_granted(&rig.answer()));

    // What stays is reported, and so is at once what a majority knows.
    let mut rig = after_release(&[3, 4]);
    assert!(rig.ask(acquire(semaphore, 1, 5)).is_none());
    rig.pass(LEASE / 4);
    assert!(disagrees(rig.answer()));
    let mut rig = after_release(&[0, 1, 2]);
    assert!(disagrees(rig.ask(acquire(semaphore, 1, 5))));
}

/// Every request is answered, even one that is queued behind another request of its ticket.
#[test]
fn what_was_asked_while_a_wait_ended_is_answered() {
    let mut rig = Rig::new(3);
    let ticket = rig.ticket();
    rig.ways = vec![Way::Freezes; 3];
    assert!(rig.ask(acquire(ticket, 1, 0)).is_none());
    assert!(rig.ask(touch(ticket, 2)).is_none());
    for (node, request) in core::mem::take(&mut rig.kept) {
        let result = Ok(Reply::Refused);
        let answer = Answer { request, result };
        rig.take(Input::Answered { node, answer });
    }
    let is_answer = |effect: &&Effect<u8>| matches!(effect, Effect::Answer(_));
    assert_eq!(rig.told.iter().filter(is_answer).count(), 2);
}

#[test]
fn what_is_missing_is_said_as_it_is() {
    let mut rig = Rig::new(5);
    let unreachable = |rig: &mut Rig| rig.step(|step| step.nodes.unreachable(3)).to_string();
    assert_eq!(
        unreachable(&mut rig),
        "fewer than 3 of 5 servers have answered"
    );
    rig.down(4);
    assert_eq!(
        unreachable(&mut rig),
        "fewer than 3 of 5 servers have answered, and 4 can be reached: cut"
    );
    for node in [2, 3] {
        rig.down(node);
    }
    assert_eq!(
        unreachable(&mut rig),
        "2 of 5 servers can be reached, 3 are needed: cut"
    );
}

#[test]
fn releases_that_are_too_many_to_keep_are_counted() {
    let mut rig = Rig::new(3);
    rig.down(0);
    let most = LIMITS.quorum.most_pending;
    for _ in 0..most + 2 {
        let op = release(rig.ticket(), 0);
        rig.step(|step| step.nodes.release(0, NOBODY, &NAME, op));
    }
    let dropped = rig.told.iter().filter_map(|effect| match effect {
        Effect::Dropped { node: 0, releases } => Some(*releases),
        _ => None,
    });
    assert!(dropped.eq([1, 2]));
    rig.up(0);
    assert_eq!(rig.quorum.nodes[0].dropped, 0);
}

#[test]
fn pauses_grow_and_never_beyond_a_second() {
    let mut rig = Rig::new(3);
    let longest = LIMITS.quorum.longest_pause;
    let mut pause = |collisions, round| rig.step(|step| step.nodes.backoff(collisions, round));
    for collisions in 0..100 {
        let pause = pause(collisions, Duration::from_millis(1));
        assert!(pause >= Duration::from_micros(500) && pause <= longest);
    }
    let most = (0..100).map(|_| pause(20, Duration::ZERO)).max();
    assert!(most > Some(longest / 4), "{most:?}");
}
