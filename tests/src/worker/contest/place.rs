//! The place of a task at a belt.

use super::Kind;
use crate::belt;

/// A belt, and the end of the belt at which a task works.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) belt: String,
    pub(super) bound: u32,
    /// Whether the task puts items; otherwise it takes them.
    pub(super) puts: bool,
}

impl Place {
    /// Finds the place of a task. With one belt for all, every other task puts items. With partners, the first task at
    /// a belt puts items, and waits for a partner that comes much later, usually from another process. If a
    /// notification between partners is lost, both wait forever.
    pub(super) fn find(kind: Kind, name: &str, number: u64, witness: u16) -> Self {
        match kind {
            Kind::Partners { pairs } => {
                let seat = belt::seat(witness);
                Self {
                    belt: format!("{name}{}", seat % pairs),
                    bound: 1,
                    puts: seat < pairs,
                }
            }
            Kind::Handoff { bound } => Self {
                belt: name.to_owned(),
                bound,
                puts: number.is_multiple_of(2),
            },
            other => panic!("no belt in {other:?}"),
        }
    }
}
