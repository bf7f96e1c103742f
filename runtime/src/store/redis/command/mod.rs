//! An operation as a command for the server: [`evaluate`].

mod long;
mod short;
mod words;

use redis::Cmd;

use self::words::Words;
use super::scripts::{Operation, Scripts};
use crate::name::Name;
use crate::store::{MemberId, Mode, Op};

/// What follows a name in its keys, in the order of KEYS; see `scripts/common/base.lua`.
pub(super) const SUFFIXES: [&str; 6] = ["", ":tickets", ":held", ":queue", ":gone", ":signals"];

/// How an operation is put to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By a script that knows the first key and the plain cases alone. What it cannot do it answers with nil, and has done
    /// nothing then.
    Short,
    /// By a script that can do everything.
    Long,
}

impl Way {
    /// The shortest one for an operation.
    pub(super) fn of(op: &Op) -> Self {
        match short::takes(op) {
            true => Self::Short,
            false => Self::Long,
        }
    }
}

/// The channel of a member.
pub(super) fn channel(member: MemberId) -> String {
    format!("auto_mutex:member:{member}")
}

/// The key of a name; its hash tag keeps all keys of the name in one slot.
pub(super) fn key(name: &Name) -> String {
    format!("auto_mutex:{{{name}}}")
}

/// Whether a release and an acquire of the same name, both on the short way, can be one command.
pub(super) fn is_cycle(release: &Op, acquire: &Op) -> bool {
    let queues = matches!(
        acquire,
        Op::Acquire {
            mode: Mode::Queue,
            ..
        }
    );
    queues && matches!(release, Op::Release { .. })
}

/// EVALSHA of a release and the next acquire of `member`.
pub(super) fn cycle(
    scripts: &Scripts,
    member: MemberId,
    name: &Name,
    release: &Op,
    acquire: &Op,
) -> Cmd {
    let digest = scripts.digest(Operation::ShortCycle);
    let mut words = Words::new(digest, key(name), &SUFFIXES[..1]);
    short::write(&mut words, member, acquire);
    short::write(&mut words, member, release);
    words.finish()
}

/// EVALSHA of an operation of `member`.
pub(super) fn evaluate(scripts: &Scripts, member: MemberId, name: &Name, op: &Op, way: Way) -> Cmd {
    let operation = match (op, way) {
        (Op::Acquire { .. }, Way::Short) => Operation::ShortAcquire,
        (Op::Acquire { .. }, Way::Long) => Operation::Acquire,
        (Op::Touch { .. }, Way::Short) => Operation::ShortTouch,
        (Op::Touch { .. }, Way::Long) => Operation::Touch,
        (Op::Release { .. }, Way::Short) => Operation::ShortRelease,
        (Op::Release { .. }, Way::Long) => Operation::Release,
        (Op::Adopt { .. }, _) => Operation::Adopt,
        (Op::Force { .. }, _) => Operation::Force,
        (Op::Refresh { .. }, _) => Operation::Refresh,
        (Op::Signal { .. }, _) => Operation::Signal,
        (Op::Delete, _) => Operation::Delete,
        (Op::Inspect, _) => Operation::Inspect,
    };
    let digest = scripts.digest(operation);
    match way {
        Way::Short => {
            let mut words = Words::new(digest, key(name), &SUFFIXES[..1]);
            short::write(&mut words, member, op);
            words.finish()
        }
        Way::Long => {
            let mut words = Words::new(digest, key(name), &SUFFIXES);
            long::write(&mut words, member, op);
            words.finish()
        }
    }
}
